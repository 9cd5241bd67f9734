"""What the recorded retries say about waiting, for decisions and for `policy learn`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Final

from medbay.core.model import Attempt, Question, Task
from medbay.core.policy import learning
from medbay.core.policy import replay as replaying
from medbay.core.policy.learning import WENT_WELL, Learned
from medbay.core.policy.policy import Policy
from medbay.core.policy.replay import Episode, FailedRun, Played, PolicyScore, score
from medbay.errors import NotFound
from medbay.store import attempts, questions, retries, tasks
from medbay.store.database import Tx

RECORDED: Final = "as it was"


def in_force(tx: Tx, policy: Policy, kind: str) -> Policy:
    """The policy with what was learned of a class, where delays are learned at all."""
    return replace(policy, learned={kind: learned(tx, kind)}) if policy.adaptive else policy


def learned(tx: Tx, kind: str) -> Learned:
    """What the newest retries of a class say."""
    return learning.learn(kind, retries.tried(tx, kind, learning.HISTORY_MAX))


def all_learned(tx: Tx) -> list[Learned]:
    """The same for every class that was retried."""
    return [learned(tx, kind) for kind in retries.classes_tried(tx)]


def replay(tx: Tx, policies: Mapping[str, Policy], *, since: int) -> dict[str, PolicyScore]:
    """The recorded failures since a moment as they went, and as they would have gone under each policy."""
    played: dict[str, list[Played]] = {RECORDED: [], **{name: [] for name in policies}}
    for episode in episodes(tx, since):
        played[RECORDED].append(replaying.as_recorded(episode))
        for name, policy in policies.items():
            played[name].append(replaying.replay(episode, policy, tx.now))
    if not played[RECORDED]:
        raise NotFound("no task failed in that time", hint="there is nothing to replay; --since 90d looks further back")
    return {name: score(each) for name, each in played.items()}


def episodes(tx: Tx, since: int) -> Iterator[Episode]:
    """Every run of failures that began since this moment, task by task."""
    for task_id, ended in groupby(attempts.ended_since(tx, since), key=lambda each: each.task_id):
        runs = list(ended)
        if any(each.diagnosis is not None for each in runs):
            task = tasks.get(tx, task_id)
            assert task is not None
            if _began_before(tx, runs[0]):
                runs = _after_success(runs)
            yield from _of_task(task, runs, questions.of_task(tx, task_id))


def _began_before(tx: Tx, first: Attempt) -> bool:
    before = attempts.get(tx, first.task_id, first.number - 1)
    return before is not None and before.outcome not in WENT_WELL


def _after_success(runs: list[Attempt]) -> list[Attempt]:
    """What came after the failures that began before the record that is read."""
    well = next((at for at, each in enumerate(runs) if each.outcome in WENT_WELL), len(runs))
    return runs[well + 1 :]


def _of_task(task: Task, runs: list[Attempt], asked: list[Question]) -> Iterator[Episode]:
    failures: list[FailedRun] = []
    for each in runs:
        assert each.ended_at is not None
        if each.outcome in WENT_WELL and failures:
            yield _episode(task, failures, asked, healed=(each.started_at, each.ended_at))
            failures = []
        elif each.diagnosis is not None:
            failures.append(
                FailedRun(
                    number=each.number, started_at=each.started_at, ended_at=each.ended_at, diagnosis=each.diagnosis
                )
            )
    if failures:
        yield _episode(task, failures, asked)


def _episode(
    task: Task, failures: list[FailedRun], asked: list[Question], healed: tuple[int, int] | None = None
) -> Episode:
    began, ended = failures[0].ended_at, healed[0] if healed else None
    within = (
        each.id
        for each in asked
        if (each.answered_at is None or each.answered_at >= began) and (ended is None or each.asked_at <= ended)
    )
    return Episode(task=task, failures=tuple(failures), healed=healed, question=next(within, None))

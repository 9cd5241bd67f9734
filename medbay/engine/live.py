"""The attempts that an engine runs: the launch of each, what is live, which processes to record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from medbay.core import workspace
from medbay.core.agent import is_agents
from medbay.core.attempt import prompt
from medbay.core.attempt.rescue import Failure
from medbay.core.model import changed
from medbay.core.outcome import Outcome, Succeeded, redacted
from medbay.core.redaction import Redaction
from medbay.engine.settings import Settings
from medbay.places.protocol import AttemptKey, Launch, Running
from medbay.service.attempts import Claim, Finished

_directory = lru_cache(maxsize=256)(Path)  # many tasks run in few directories, and parsing a path takes a while
Process = tuple[str, int, int, int]  # task, number, pid, start time


@dataclass(frozen=True, slots=True)
class Live:
    """An attempt this engine is running."""

    claim: Claim
    running: Running

    @property
    def verifying(self) -> bool:
        """Whether its work has succeeded and its checks are what runs."""
        return self.claim.task.status == "pending_verification"

    def leaves_checks(self, outcome: Outcome, *, evaluates: bool) -> bool:
        """Whether something may have to look at its result now."""
        if isinstance(outcome, Succeeded):
            return self.verifying or bool(self.claim.task.checks) or workspace.to_land(outcome) is not None
        return self.verifying or (evaluates and isinstance(outcome, Failure))

    def finished(self, outcome: Outcome, now: int, redaction: Redaction) -> Finished:
        """How it ended, to be settled; nothing of it is kept or judged before its secrets are taken out."""
        claim = self.claim
        return Finished(
            task_id=claim.task.id,
            number=claim.attempt.number,
            outcome=redacted(outcome, redaction.knowing(dict(claim.task.env))),
            ended_at=now,
            checks=claim.task.checks,
            claim=claim,
        )


def launch_of(claim: Claim, settings: Settings, *, store_id: str, ahead: bool) -> Launch:
    """Everything it needs to start, or to wait ahead of its start."""
    task, attempt = claim.task, claim.attempt
    return Launch(
        store_id=store_id,
        task_id=task.id,
        number=attempt.number,
        runner=task.runner,
        command=task.command,
        cwd=_directory(task.cwd) if task.cwd else settings.home,
        log_path=attempt.log_path,
        result_path=settings.result_path(task.id, attempt.number),
        idempotency_key=f"{store_id}:{task.id}:{task.iteration}",
        env=dict(task.env),
        guidance=attempt.guidance,
        prompt=_prompt(claim, settings) if is_agents(task) else "",
        model=task.model,
        fresh_session=task.fresh_session,
        timeout_s=task.timeout_ms / 1000 if task.timeout_ms else None,
        memory_bytes=task.memory_bytes,
        cpu_s=task.cpu_ms / 1000 if task.cpu_ms else None,
        ahead=ahead,
        keep_log=task.crashes > 0,
        work=workspace.requested(task) if is_agents(task) else None,
    )


def _prompt(claim: Claim, settings: Settings) -> str:
    """The prompt of an agent; the specification that it reviews is another task's, and goes without its secrets."""
    task, attempt = claim.task, claim.attempt
    if task.role == "review":
        task = changed(task, spec=settings.redaction.knowing(dict(task.env)).text(task.spec))
    return prompt.make(task, attempt=attempt.number, guidance=attempt.guidance)


class Unrecorded:
    """The attempts whose process the store does not know yet; of most it never needs to."""

    def __init__(self) -> None:
        self._keys: set[AttemptKey] = set()

    def add(self, key: AttemptKey) -> None:
        """It was started; its process is recorded once that is worth it."""
        self._keys.add(key)

    def discard(self, key: AttemptKey) -> None:
        """It is over."""
        self._keys.discard(key)

    def to_record(self, live: Mapping[AttemptKey, Live]) -> list[Process]:
        """The processes that should be recorded now."""
        found = []
        for key in self._keys & live.keys():
            process = live[key].running.identity
            if process is not None:
                found.append((*key, process.pid, process.pid_start))
        return found

    def recorded(self, processes: list[Process]) -> None:
        """The store has them."""
        self._keys.difference_update((task_id, number) for task_id, number, _, _ in processes)

    def clear(self) -> None:
        """This engine goes on as another worker."""
        self._keys.clear()

"""The checkers can fail: with a rule taken out or bent, some seed notices, and says which promise broke."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from medbay.core import decision, rules
from medbay.core.attempt import counting, ending
from medbay.core.decision import Change, Decision, Draft, QuestionJoined, RetryClosed
from medbay.core.holds import holding
from medbay.core.model import Question, Retry, Task
from medbay.core.people import commands
from medbay.core.policy import policy
from medbay.core.triage import effects
from medbay.core.triage.case import TriageCase
from medbay.core.triage.effects import Made
from medbay.engine import settlement
from medbay.engine.round import Engine
from medbay.engine.slots import Slots
from medbay.env import Clock
from medbay.service import attempts as attempt_service
from medbay.sim import world
from medbay.sim.checker import Checker
from medbay.sim.many import run_seed
from medbay.store import attempts as attempt_rows
from medbay.store import tasks as task_rows
from medbay.store.database import Store

SEEDS_TRIED = 30
Patch = pytest.MonkeyPatch


def first_broken(first: int) -> str | None:
    """What the first seed that fails says."""
    for seed in range(first, first + SEEDS_TRIED):
        report = run_seed(seed)
        if report.broken is not None:
            return report.broken
    return None


def without_rule(patch: Patch, number: int) -> None:
    """Take one of the reasons that hold a task back out."""
    rules_left = list(holding._RULES)
    rules_left[number - 1] = replace(rules_left[number - 1], check=lambda task, now, around: None)
    patch.setattr(holding, "_RULES", tuple(rules_left))


def ignore_pauses(patch: Patch) -> None:
    """Paused tasks count as ready."""
    without_rule(patch, 5)


def ignore_due_times(patch: Patch) -> None:
    """Whatever is pending counts as due."""
    without_rule(patch, 8)


def ignore_dependencies(patch: Patch) -> None:
    """What a task comes after does not hold it."""
    without_rule(patch, 7)


def reset_the_streak_on_release(patch: Patch) -> None:
    """A person's release forgets the failures."""
    patch.setattr(commands, "grant", lambda task, attempts: counting.forget_failures(task))


def reset_the_streak_on_loss(patch: Patch) -> None:
    """A lost attempt forgets the failures."""
    real = ending._lost

    def lost(ended: Any, outcome: Any, draft: Any, work: Any) -> Decision:
        draft.task = counting.forget_failures(draft.task)
        return real(ended, outcome, draft, work)

    patch.setattr(ending, "_lost", lost)


def charge_twice(patch: Patch) -> None:
    """A charged failure counts for two."""
    real = counting.count_failure

    def count(task: Task, *, charge: bool, now: int) -> Task:
        counted = real(task, charge=charge, now=now)
        return replace(counted, streak=counted.streak + 1) if charge else counted

    patch.setattr(counting, "count_failure", count)


def lose_a_retry(patch: Patch) -> None:
    """A failure is decided, but its retry row is not written."""
    real = ending.on_attempt_ended

    def ended(*args: Any) -> Decision:
        return real(*args).without(Retry)

    patch.setattr(rules, "on_attempt_ended", ended)


def forget_to_ask(patch: Patch) -> None:
    """A task is blocked for a person who is not asked."""
    real = ending.on_attempt_ended

    def ended(*args: Any) -> Decision:
        return real(*args).without(Question).without(QuestionJoined)

    patch.setattr(rules, "on_attempt_ended", ended)


def leave_the_retry_pending(patch: Patch) -> None:
    """A released retry stays pending beside the attempt it led to."""
    real = rules.on_due

    def due(*args: Any, **named: Any) -> Decision:
        return real(*args, **named).without(RetryClosed)

    patch.setattr(rules, "on_due", due)


def retry_before_the_named_time(patch: Patch) -> None:
    """The schedule alone decides, whatever time the failure named."""
    patch.setattr(policy, "not_before", lambda named, scheduled, now, record: scheduled)


def skip_the_history(patch: Patch) -> None:
    """A claim moves the status without a transition."""
    real = rules.on_claimed

    def claimed(*args: Any, **named: Any) -> Decision:
        made = real(*args, **named)
        return made.without(Change).plus(replace(made.changes[0], transitions=()))

    patch.setattr(rules, "on_claimed", claimed)


def reuse_a_number(patch: Patch) -> None:
    """A claim skips a number."""
    real = rules.on_claimed

    def claimed(task: Task, now: int, **more: Any) -> Decision:
        return real(replace(task, attempts=task.attempts + 1), now, **more)

    patch.setattr(rules, "on_claimed", claimed)


def let_recovery_have_everything(patch: Patch) -> None:
    """No share is kept for fresh work."""
    patch.setattr(attempt_service, "_share_left", lambda capacity: capacity.slots)


def run_suspects_together(patch: Patch) -> None:
    """Suspects are not counted."""
    real = Slots.capacity
    patch.setattr(Slots, "capacity", lambda self, **named: replace(real(self, **named), live_suspects=0))


def leave_processes_behind(patch: Patch) -> None:
    """Nobody ends what a dead engine left running."""
    patch.setattr(Engine, "_end_leftovers", lambda self, *, dead=frozenset(): None)


def never_reap(patch: Patch) -> None:
    """What a dead engine was running stays live."""
    patch.setattr(Engine, "recover", lambda self: [])


def skip_the_fence(patch: Patch) -> None:
    """Whoever reports an end is believed, even after somebody else recorded it."""
    real = attempt_service._load_ended

    def load(tx: Any, finished: Any, **named: Any) -> Any:
        attempt = attempt_rows.get(tx, finished.task_id, finished.number)
        owner = attempt.worker_id if attempt else ""
        ended = real(tx, finished, **{**named, "worker_id": owner})
        if ended is None and attempt is not None:
            tx.execute(
                "UPDATE attempt SET ended_at = NULL WHERE task_id = ? AND number = ?",
                (finished.task_id, finished.number),
            )
            ended = real(tx, finished, **{**named, "worker_id": owner})
        return ended

    patch.setattr(attempt_service, "_load_ended", load)


def never_release(patch: Patch) -> None:
    """What is due is never released."""
    patch.setattr(task_rows, "due", lambda tx, limit: [])


def break_a_rule(patch: Patch) -> None:
    """A rule of ours raises."""
    patch.setattr(ending, "_requeued", lambda *args: 1 / 0)


def forget_outcomes(patch: Patch) -> None:
    """What ended is dropped before the store has it."""
    patch.setattr(settlement.Settler, "take", lambda self, finished: None)


def stay_ready(patch: Patch) -> None:
    """The column `ready` is not computed any more once it is set."""
    real = decision.Draft.change

    def change(self: decision.Draft[Task]) -> decision.Change[Task]:
        made = real(self)
        return replace(made, after=replace(made.after, ready=made.after.ready or self.before.ready))

    patch.setattr(decision.Draft, "change", change)


def bend_splits(patch: Patch, bent: Callable[[Draft[Task], TriageCase, Any], Any]) -> None:
    """Let a split do something else, after it did what it does."""
    real = effects._EFFECTS["SPLIT"]
    patch.setitem(
        vars(effects)["_EFFECTS"], "SPLIT", lambda draft, case, said: bent(draft, case, real(draft, case, said))
    )


def lose_the_last_part(patch: Patch) -> None:
    """A split is closed for parts of which one is not made."""

    def bent(draft: Draft[Task], case: TriageCase, done: Any) -> Any:
        lost = done.made[-1].task.id
        kept = tuple(each for each in done.rewired if each.target != lost)
        return replace(done, made=done.made[:-1], rewired=kept)

    bend_splits(patch, bent)


def split_without_closing(patch: Patch) -> None:
    """The parts are made, and the task goes on beside them."""

    def bent(draft: Draft[Task], case: TriageCase, done: Any) -> Any:
        draft.task = replace(case.task, waits_for=None, due_at=draft.now)
        draft._transitions.clear()
        draft.events = [each for each in draft.events if each.name != "task:cancelled"]
        return replace(done, others=(), rewired=())

    bend_splits(patch, bent)


def leave_what_comes_after_a_split(patch: Patch) -> None:
    """What came after the task is not put behind its parts."""
    bend_splits(patch, lambda draft, case, done: replace(done, others=(), rewired=()))


def run_parts_together(patch: Patch) -> None:
    """Each part waits for what the task waited for, and for no other part."""

    def freed(case: TriageCase, each: Made) -> Made:
        change = each.added.change
        after = replace(change.after, unmet=case.task.unmet, ready=True, ready_at=case.task.since)
        return replace(each, added=replace(each.added, change=replace(change, after=after), after=case.after))

    bend_splits(patch, lambda draft, case, done: replace(done, made=tuple(freed(case, each) for each in done.made)))


def believe_what_was_undone(patch: Patch) -> None:
    """The checker goes on with what it saw in a transaction that was rolled back."""

    def undone(self: Checker) -> None:
        self._within, self._before = (), None

    patch.setattr(Checker, "undone", undone)


def share_a_mutex(patch: Patch) -> None:
    """What has a mutex is ready like anything else, and the database does not mind."""
    in_memory = world._in_memory

    def without_index(clock: Clock) -> Store:
        store = in_memory(clock)
        with store.write() as tx:
            tx.execute("DROP INDEX task_mutex")
        return store

    patch.setattr(world, "_in_memory", without_index)
    patch.setattr(Task, "behind_mutex", "")


def forget_the_slots_of_a_queue(patch: Patch) -> None:
    """Every engine fills its own slots."""
    patch.setattr(attempt_service, "_queues_left", lambda tx, worker, capacity: {})


# How a rule is bent, what the report has to say, and with which seed the search begins.
MUTATIONS: list[tuple[Callable[[Patch], None], str, int]] = [
    (ignore_pauses, "", 1),
    (ignore_due_times, "", 1),
    (ignore_dependencies, "", 1),
    (reset_the_streak_on_release, "5 streak", 1),
    (reset_the_streak_on_loss, "5 streak", 1),
    (charge_twice, "5 streak", 1),
    (lose_a_retry, "retry", 1),
    (forget_to_ask, "without an open question", 1),
    (leave_the_retry_pending, "pending retry", 1),
    (retry_before_the_named_time, "9 nothing before the named time", 4),
    (skip_the_history, "7 history", 1),
    (reuse_a_number, "attempt numbers rise by one", 1),
    (let_recovery_have_everything, "recovery share", 71),
    (run_suspects_together, "suspects", 7),
    (leave_processes_behind, "2 one process tree", 1),
    (never_reap, "", 1),
    (skip_the_fence, "", 98),
    (never_release, "", 1),
    (break_a_rule, "no rule breaks", 1),
    (forget_outcomes, "", 1),
    (stay_ready, "", 1),
    (share_a_mutex, "one running task per mutex", 5),
    (forget_the_slots_of_a_queue, "slots of a queue", 3),
    (believe_what_was_undone, "", 34),
    (lose_the_last_part, "a split is whole or not at all", 35),
    (split_without_closing, "a split is whole or not at all", 35),
    (leave_what_comes_after_a_split, "what came after a split comes after its parts", 35),
    (run_parts_together, "the parts of a split follow each other", 35),
]


@pytest.mark.parametrize(("bend", "told", "first"), MUTATIONS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_bent_rule_is_noticed(bend: Callable[[Patch], None], told: str, first: int, monkeypatch: Patch) -> None:
    """A check that cannot fail is worth nothing."""
    bend(monkeypatch)

    broken = first_broken(first)

    assert broken is not None, "no seed noticed"
    assert told in broken

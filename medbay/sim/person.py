"""A person at the keyboard: adds, pauses, cancels, retries, edits and answers, at random or to get things done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from medbay.core.lifecycles import BlockKind
from medbay.core.model import Check, Task
from medbay.core.rules import Loop
from medbay.env import Random
from medbay.errors import NotAllowed, UsageError
from medbay.service import additions, breakers, schedules, tasks
from medbay.service.additions import NewTask
from medbay.sim.daemon import Ground
from medbay.sim.faults import FaultyStore
from medbay.sim.plan import DAY, HOUR, MINUTE, SECOND
from medbay.store import breakers as breaker_rows
from medbay.store import questions
from medbay.store import tasks as task_rows
from medbay.store.database import Tx

ACTOR: Final = "person:sim"
ANSWERS_BEFORE_GIVING_UP: Final = 2
RECURRING_SHARE: Final = 0.25
CRONS: Final = ("*/5 * * * *", "0 * * * *", "17,43 * * * *", "30 2 * * *")
FAILURES_BORNE: Final = 6  # in a row, of a recurring task
REQUEUES_BORNE: Final = 20
LOOKED_AT: Final = 30  # tasks, before a person gives up looking for one to do something to


class Person:
    """Everything that people do. Remembers every id that `add` returned, and what comes after what."""

    def __init__(self, ground: Ground, rng: Random) -> None:
        self.added: dict[str, tuple[str, ...]] = {}  # id -> what it comes after
        self._ground = ground
        self._rng = rng
        self._store = FaultyStore(ground.store, "person", ground.clock, faults=None, committed=ground.committed)
        self._answers: Counter[str] = Counter()
        self._acts: tuple[tuple[int, Callable[[], None]], ...] = (
            (4, self.add),
            (3, self._pause),
            (4, self._resume),
            (2, self._cancel),
            (4, self._retry),
            (3, self._unblock),
            (2, self._block),
            (3, self._edit),
            (6, self._answer),
            (1, self._come_after),
            (3, self._loop),
            (1, self._open_breaker),
            (2, self._close_breaker),
        )

    def add(self) -> None:
        """A new task: maybe urgent, maybe later, maybe after others, nearly always with a time limit."""
        rng = self._rng
        known = list(self.added)
        after = tuple(rng.sample(known, k=min(len(known), rng.choice((0, 0, 0, 1, 1, 2)))))
        at = None
        if rng.random() < 0.2:
            longest = rng.choice((MINUTE, HOUR, DAY))
            at = self._ground.clock.now_ms() + rng.randint(-SECOND, longest)
        command = self._ground.work.draw_command(rng)
        runner, command = self._ground.work.given_to(command, len(known))
        checks = tuple(Check(self._ground.work.draw_command(rng)) for _ in range(rng.choice((0, 0, 1))))
        recurs = self._schedule() if not after else {}
        new = NewTask(
            **recurs,
            checks=checks,
            check_timeout_ms=rng.choice((5 * SECOND, 5 * MINUTE)),
            title=f"task {len(known) + 1}",
            command=command,
            runner=runner,
            resources=self._ground.work.draw_resources(command, rng),
            place=self._ground.work.place_of(len(known)),
            mutex=self._ground.work.mutex_of(len(known)),
            priority=rng.choice((0, 1, 2, 2, 2, 3, 4)),
            timeout_ms=rng.choice((5 * SECOND, 5 * MINUTE, 30 * MINUTE)),
            after=after,
            at=at,
        )
        try:
            with self._store.write() as tx:
                task_id = additions.add(tx, new, ids=self._ground.ids, actor=ACTOR).id
        except NotAllowed:  # after a cancelled task, or one that recurs
            return
        self.added[task_id] = tuple(sorted(after))

    def _schedule(self) -> dict[str, Any]:
        """One in four recurs: by cron in some zone or every so often, nearly always a few times only."""
        rng = self._rng
        if rng.random() >= RECURRING_SHARE:
            return {}
        how: dict[str, Any] = {
            "catch_up": rng.choice(("none", "one", "one", "all")),
            "max_iterations": rng.choice((1, 2, 3, 5)),
        }
        if rng.random() < 0.5:
            return {**how, "every_ms": rng.choice((30 * SECOND, 5 * MINUTE, HOUR))}
        return {**how, "cron": rng.choice(CRONS), "zone": rng.choice(("UTC", "Europe/Berlin", "Australia/Lord_Howe"))}

    def _loop(self) -> None:
        with self._store.write() as tx:
            ids = self._rng.sample(list(self.added), k=min(len(self.added), self._rng.choice((2, 2, 3))))
            members = [tasks.resolve(tx, each) for each in ids]
            asked = Loop(
                delay_ms=self._rng.choice((None, MINUTE)),
                max_iterations=self._rng.choice((1, 2, 3)),
                max_failure_restarts=self._rng.choice((0, 1, 3)),
            )
            schedules.make_loop(tx, members, asked, actor=ACTOR)

    def act_at_random(self) -> str:
        """Do one thing, sensible or not; a refusal is an answer too."""
        weights = [weight for weight, _ in self._acts]
        ((_, act),) = self._rng.choices(self._acts, weights=weights)
        try:
            act()
        except (NotAllowed, UsageError) as refusal:
            return f"{act.__name__.strip('_')} refused: {refusal.message}"
        return act.__name__.strip("_")

    def clear_the_desk(self) -> str:
        """Answer every question and resume what is paused; what keeps asking is cancelled."""
        with self._store.read() as tx:
            waiting = [(asked.id, asked.task_ids) for asked in questions.open_questions(tx)]
            paused = [task.id for task in task_rows.unfinished(tx) if task.paused]
            hopeless = [task.id for task in task_rows.unfinished(tx) if _goes_on_for_ever(task)]
        for question_id, task_ids in waiting:
            self._answers.update(task_ids)
            patient = max((self._answers[each] for each in task_ids), default=0) <= ANSWERS_BEFORE_GIVING_UP
            with self._store.write() as tx:
                tasks.answer(tx, question_id, "1" if patient else "cancel", actor=ACTOR)
        with self._store.read() as tx:
            by_hand = [each.key for each in breaker_rows.not_closed(tx).values() if each.by_hand]
        for key in by_hand:
            with self._store.write() as tx:
                breakers.close_one(tx, key, actor=ACTOR)
        for task_id in paused:
            with self._store.write() as tx:
                task = tasks.resolve(tx, task_id)
                if not task.finished:  # an answer may have ended it: what triage paused has a question
                    tasks.resume(tx, task, actor=ACTOR)
        for task_id in hopeless:
            with self._store.write() as tx:
                task = tasks.resolve(tx, task_id)
                if not task.finished:
                    tasks.cancel(tx, task, actor=ACTOR)
        return f"answered {len(waiting)}, resumed {len(paused)}, gave up {len(hopeless)}"

    def _pick(self, tx: Tx, *, status: str | None = None, paused: bool = False) -> Task:
        ids = list(self.added)
        for task_id in self._rng.sample(ids, k=min(len(ids), LOOKED_AT)):
            task = task_rows.get(tx, task_id)
            fits = task is not None and not task.finished and status in (None, task.status)
            if task is not None and fits and (task.paused or not paused):
                return task
        raise NotAllowed("nothing to choose from")

    def _pause(self) -> None:
        with self._store.write() as tx:
            tasks.pause(tx, self._pick(tx), actor=ACTOR)

    def _resume(self) -> None:
        with self._store.write() as tx:
            tasks.resume(tx, self._pick(tx, paused=True), actor=ACTOR)

    def _cancel(self) -> None:
        with self._store.write() as tx:
            tasks.cancel(tx, self._pick(tx), actor=ACTOR)

    def _retry(self) -> None:
        with self._store.write() as tx:
            tasks.retry(tx, self._pick(tx), actor=ACTOR, attempts=self._rng.choice((1, 2, 2, 3)))

    def _unblock(self) -> None:
        with self._store.write() as tx:
            tasks.unblock(tx, self._pick(tx, status="blocked"), actor=ACTOR)

    def _block(self) -> None:
        with self._store.write() as tx:
            kinds: tuple[BlockKind, ...] = ("human", "external")
            timeout_ms = self._rng.choice((MINUTE, 2 * HOUR))
            tasks.block(
                tx, self._pick(tx), actor=ACTOR, kind=self._rng.choice(kinds), reason="wait", timeout_ms=timeout_ms
            )

    def _edit(self) -> None:
        fields = {"priority": self._rng.randint(0, 4)} if self._rng.random() < 0.7 else {}
        reset = self._rng.random() < 0.4
        with self._store.write() as tx:
            tasks.edit(tx, self._pick(tx), actor=ACTOR, fields=fields, reset_failures=reset)

    def _answer(self) -> None:
        with self._store.write() as tx:
            waiting = questions.open_questions(tx)
            if not waiting:
                raise NotAllowed("no question is open")
            choice = self._rng.choice(("default", "retry", "retry", "pause", "cancel"))
            tasks.answer(tx, self._rng.choice(waiting).id, choice, actor=ACTOR, note=self._rng.choice(("", "try it")))

    def _open_breaker(self) -> None:
        until = self._ground.clock.now_ms() + self._rng.choice((MINUTE, HOUR))
        with self._store.write() as tx:
            breakers.open_one(
                tx, "anthropic", actor=ACTOR, why="by hand", until=until if self._rng.random() < 0.8 else None
            )

    def _close_breaker(self) -> None:
        with self._store.write() as tx:
            held = [each for each in breaker_rows.not_closed(tx, changing=True).values() if not each.spent]
            if not held:
                raise NotAllowed("nothing is held")
            breakers.close_one(tx, self._rng.choice(held).key, actor=ACTOR)

    def _come_after(self) -> None:
        with self._store.write() as tx:
            task, other = self._pick(tx), self._rng.choice(list(self.added) or [""])
            tasks.edit(tx, task, actor=ACTOR, fields={}, reset_failures=False, after=(other,))
        self.added[task.id] = tuple(sorted({*self.added.get(task.id, ()), other}))


def _goes_on_for_ever(task: Task) -> bool:
    """A recurring task that never succeeds is not blocked for it, so a person has to give it up."""
    return task.recurs and (task.streak > FAILURES_BORNE or task.uncharged > REQUEUES_BORNE)

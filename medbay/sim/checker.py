"""Watches the store from commit to commit, and sweeps it whole now and then. Only ever reads."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from medbay.core.holds.breaker import Breaker
from medbay.core.holds.resources import KNOWN_FOR_MS, command_key, held_by
from medbay.core.model import DEFAULT_QUEUE, Event, Question, Retry, Task
from medbay.core.outcome import Lost
from medbay.service import liveness
from medbay.sim.checks import check
from medbay.sim.clock import VirtualClock
from medbay.sim.ledger import Broken, KnownTask, TaskCommit
from medbay.sim.machines import Machines, SimulatedProcess
from medbay.sim.second_place import SecondPlace
from medbay.sim.splits import Graph, Splits
from medbay.store import attempts, breakers, checks, history, questions, retries, tasks
from medbay.store.database import Store, Tx

EVENTS_MAX: Final = 100_000
MANY: Final = 30
RECOVERY_SHARE: Final = 0.5
PERSON: Final = "person"
SAYS_NOTHING: Final = ("lost", "cancelled", "requeued")


class Checker:
    """Holds every promise against what is really in the store and what really ran."""

    def __init__(self, store: Store, clock: VirtualClock, *, slots: int, queue_slots: int = 0) -> None:
        self._queue_slots = queue_slots
        self.known: dict[str, KnownTask] = {}
        self.processes: dict[tuple[str, int], SimulatedProcess] = {}
        self.attempts_run = 0
        self.fresh_events: tuple[Event, ...] = ()
        self.waiting: set[str] = set()  # tasks that are ready, or to be cancelled: work for an engine
        self.elsewhere: SecondPlace | None = None
        self._begun: set[tuple[str, int, str]] = set()  # what was ever started elsewhere
        self._store = store
        self._clock = clock
        self._slots = slots
        self._seq = 0
        self._probes = Probes()
        self.splits = Splits()
        self._within: tuple[Event, ...] = ()  # what was looked at and is not committed yet
        self._before: tuple[dict[str, KnownTask], set[str], int, Probes, Splits] | None = None  # how it was before that
        self._latest = 0  # the latest the clock ever said: what was due then may start after it is set back

    def process_started(self, process: SimulatedProcess, machines: Machines) -> None:
        """Promise 2 for processes: one tree per task, on all hosts together."""
        self.processes[(process.task_id, process.number)] = process
        self.attempts_run += 1
        running = machines.running(process.task_id)
        if len(running) > 1:
            numbers = ", ".join(f"attempt {each.number} (pid {each.pid})" for each in running)
            raise Broken("2 one process tree per task", f"{process.task_id} runs as {numbers}")
        self._one_per_mutex(process, machines)
        if process.elsewhere:
            self._once_and_in_time(process)

    def _once_and_in_time(self, process: SimulatedProcess) -> None:
        """Elsewhere an attempt is begun once, and never after it is recorded how it ended."""
        named = f"attempt {process.number} of {process.task_id}"
        begun = (process.task_id, process.number, process.part)
        if begun in self._begun:
            raise Broken("elsewhere: begun once", f"{named} was begun before {process.part}")
        self._begun.add(begun)
        if self.known[process.task_id].task.live != process.number:
            raise Broken("elsewhere: nothing begins after its end", f"{named} begins, and it is over")

    def _one_per_mutex(self, process: SimulatedProcess, machines: Machines) -> None:
        """Of the tasks with the same mutex one runs, on all hosts together."""
        known = self.known.get(process.task_id)
        mutex = known.task.mutex if known is not None else ""
        others = [each for each, other in self.known.items() if mutex and other.task.mutex == mutex]
        beside = [each for each in others if each != process.task_id and machines.running(each)]
        if beside:
            raise Broken("one running task per mutex", f'{process.task_id} and {beside[0]} run, both with "{mutex}"')

    def committed(self, actor: str, graph: Graph) -> None:
        """Check everything the last commit touched, unless it was checked before it was committed."""
        with self._store.read() as tx:
            self.fresh_events = (*self._within, *self._hear(tx, actor, graph))
        self._within, self._before = (), None

    def between(self, tx: Tx, actor: str, graph: Graph) -> None:
        """Look between two steps of one transaction, as if the first were committed; it may still be undone."""
        if self._before is None:
            known = {task_id: each.kept() for task_id, each in self.known.items()}
            self._before = known, set(self.waiting), self._seq, self._probes.kept(), self.splits.kept()
        self._within += tuple(self._hear(tx, actor, graph))

    def undone(self) -> None:
        """What was checked within a transaction did not happen."""
        if self._before is not None:
            self.known, self.waiting, self._seq, self._probes, self.splits = self._before
        self._within, self._before = (), None

    def _hear(self, tx: Tx, actor: str, graph: Graph) -> list[Event]:
        self._latest = max(self._latest, tx.now)
        events = history.events_since(tx, self._seq, limit=EVENTS_MAX)
        if not events:
            return []
        self._seq = events[-1].seq
        self.splits.hear(tx, events, graph)
        for task_id in self._probes.hear(events):
            self.known[task_id].not_before = 0
        by_task: dict[str, list[Event]] = {}
        for event in events:
            if event.task_id is not None:
                by_task.setdefault(event.task_id, []).append(event)
        claimed = [task_id for task_id, told in by_task.items() if self._look(tx, task_id, tuple(told), actor, graph)]
        self._refresh_followers(tx, events)
        if claimed:
            self._check_shares(tx, claimed)
        return events

    def sweep(self, added: Mapping[str, tuple[str, ...]]) -> None:
        """The checks of the whole store."""
        with self._store.read() as tx:
            for task_id in (*added, *self.splits.all_parts()):
                task = tasks.get(tx, task_id)
                if task is None:
                    raise Broken("1 no task is lost", f"{task_id} was added and is not there")
                self._sweep_one(tx, task)
            for task_id, why in liveness.standstills(tx):
                raise Broken("no silent standstill", f"{task_id}: {why}")
            for task_id, why in liveness.contradictions(tx):
                raise Broken("7 history gives the status", f"{task_id}: {why}")
            twice = [
                task_id for task_id, n in Counter(task_id for task_id, _ in attempts.live_keys(tx)).items() if n > 1
            ]
            if twice:
                raise Broken("2 one live attempt", f"{twice[0]} has several")

    def _look(
        self, tx: Tx, task_id: str, told: tuple[Event, ...], actor: str, graph: Mapping[str, tuple[str, ...]]
    ) -> bool:
        """Check one touched task and remember it; whether it was claimed."""
        after = tasks.get(tx, task_id)
        assert after is not None
        self.splits.stays_closed(after)
        known = self.known.get(task_id)
        before = known.task if known else None
        known = known or KnownTask(after)
        self.known[task_id] = known
        before_ids = self.splits.comes_after(task_id, graph)
        claimed = after.live is not None and (before is None or before.live != after.live)
        open_now = breakers.not_closed(tx) if claimed else {}
        seen = TaskCommit(
            known=known,
            before=before,
            after=after,
            events=told,
            attempts=tuple(attempts.of_task(tx, task_id, 2)) if after.attempts else (),
            pending=self._pending(tx, before, after),
            question=self._question(tx, before, after),
            prerequisites=tuple(self.known[each].task for each in before_ids if each in self.known),
            processes=self.processes,
            now=tx.now,
            latest=self._latest,
            elapsed_ms=self._clock.elapsed_ms,
            breakers=open_now,
            held_by=self._held_by(tx, after, open_now),
            probed_at=self._probes.last(told[-1].data.get("canary")) if claimed else 0,
        )
        check(seen)
        self._check_elsewhere(seen)
        if claimed and (key := told[-1].data.get("canary")) is not None:
            self._probes.sent(key, task_id, after.attempts, tx.now)
        known.task = after
        self._remember_work(after)
        self._note(seen, by_person=actor == PERSON)
        return seen.claimed

    def _check_elsewhere(self, seen: TaskCommit) -> None:
        """What ended elsewhere runs there no more, and is not called lost where there is a result."""
        ended = seen.before.live if seen.before is not None else None
        if self.elsewhere is None or ended is None or seen.after.live == ended:
            return
        entry = self.elsewhere.cluster.entries.get((seen.after.id, ended))
        attempt = next((each for each in seen.attempts if each.number == ended), None)
        if attempt is None or not attempt.place:
            return
        named = f"attempt {ended} of {seen.after.id}"
        if entry is not None and not entry.over:
            raise Broken("elsewhere: over is over", f"{named} is recorded as {attempt.outcome}, and is {entry.state}")
        process = self.processes.get((seen.after.id, ended))
        if process is not None and process.alive(self._clock.elapsed_ms):
            raise Broken("elsewhere: over is over", f"{named} is recorded as {attempt.outcome}, and still runs")
        if attempt.outcome == "lost" and entry is not None and entry.report:
            raise Broken("elsewhere: taken up with its result", f"{named} is lost, and there is a result of it")
        hard = entry is not None and isinstance(entry.outcome, Lost) and entry.outcome.hard_crash
        if seen.before is not None and seen.after.crashes > seen.before.crashes and not hard:
            raise Broken("elsewhere: a crash is one of its worker", f"{named} counts as a crash")

    def _held_by(self, tx: Tx, task: Task, open_now: Mapping[str, Breaker]) -> str | None:
        if not open_now:
            return None
        command = command_key(task)
        needs = breakers.uses(tx, [command], since=tx.now - KNOWN_FOR_MS).get(command, ())
        found = held_by(task, open_now, needs)
        return found.key if found is not None else None

    def _remember_work(self, task: Task) -> None:
        if (task.ready and task.hold in (None, task.behind_mutex)) or task.cancel_requested:
            self.waiting.add(task.id)
        else:
            self.waiting.discard(task.id)

    def _pending(self, tx: Tx, before: Task | None, after: Task) -> tuple[Retry, ...] | None:
        if after.status != "failed" and (before is None or before.status != "failed"):
            return ()
        if after.attempts > MANY and after.attempts % MANY:  # a long list is read now and then only
            return None
        return tuple(each for each in retries.of_task(tx, after.id) if each.status == "pending")

    def _question(self, tx: Tx, before: Task | None, after: Task) -> Question | None:
        if after.status != "blocked" and (before is None or before.status != "blocked"):
            return None
        return questions.open_of_task(tx, after.id)

    def _note(self, seen: TaskCommit, *, by_person: bool) -> None:
        """Remember the time a failure named, until it is tried again or a person lets it go."""
        known, live = seen.known, seen.before.live if seen.before else None
        if by_person and (seen.named("task:unblocked") or seen.named("question:answered") or seen.after.forced):
            known.not_before, known.released = 0, True
        if live is None or seen.after.live is not None:
            return
        process = self.processes.get((seen.after.id, live))
        natural = process is not None and process.gone_ms is None
        outcome = known.outcomes.get(live)
        self._probes.ended(seen.after.id, live, outcome)
        # The newest failure counts: a probe that names no time has shown that the old one is over.
        if outcome in ("failed", "timed_out") or (outcome == "requeued" and natural):
            named_s = process.fate.named_s if process is not None and natural else None
            known.not_before = seen.now + named_s * 1000 if named_s is not None else 0

    def _refresh_followers(self, tx: Tx, events: list[Event]) -> None:
        """What comes after a finished task changes without an event of its own."""
        self._refresh_loops(tx, events)
        ended = {event.task_id for event in events if event.name == "task:completed" and event.task_id is not None}
        for task in (each for done in sorted(ended) for each in tasks.dependents(tx, done)):
            if task.id in self.known:
                self.known[task.id].task = task
                self._remember_work(task)

    def _refresh_loops(self, tx: Tx, events: list[Event]) -> None:
        """Who gets the turn in a loop changes without an event of its own."""
        touched = {event.task_id for event in events if event.task_id in self.known}
        for loop in sorted({self.known[task_id].task.loop for task_id in touched if task_id} - {""}):
            members = tasks.of_loop(tx, loop)
            turns = [task.id for task in members if not task.finished and task.waits_for is None]
            if len(turns) > 1 or (not turns and any(not task.finished for task in members)):
                raise Broken("recurring: one turn in a loop", f"the loop of {loop}: {', '.join(turns) or 'none'}")
            for task in members:
                if task.id not in touched:
                    self.known[task.id].task = task
                    self._remember_work(task)

    def _check_shares(self, tx: Tx, claimed: list[str]) -> None:
        """At most one suspect at a time, recovery within its share while fresh work is ready, slots of the queue."""
        if self._queue_slots and (running_now := tasks.count_live(tx, DEFAULT_QUEUE)) > self._queue_slots:
            raise Broken("slots of a queue", f"{running_now} tasks run in {self._queue_slots} slots")
        live: dict[tuple[str, str], list[Task]] = {}
        owners = {each.worker_id for task_id in claimed for each in attempts.of_task(tx, task_id, 1)}
        for worker_id in sorted(owners):
            for each in attempts.live_of_worker(tx, worker_id):
                live.setdefault((worker_id, each.place), []).append(self.known[each.task_id].task)
        for (worker_id, place), running in live.items():
            newly = {task.id for task in running if task.id in claimed}
            slots = self._slots if not place or self.elsewhere is None else self.elsewhere.slots[place]
            if place and newly and len(running) > slots:
                raise Broken("slots of a place", f"{worker_id} runs {len(running)} at {place}, in {slots} slots")
            suspects = [task.id for task in running if task.crashes > 0 and not self._waits_for_its_checks(tx, task)]
            if len(suspects) > 1 and (not place or newly & set(suspects)):  # elsewhere several may be taken up
                raise Broken("crash budget", f"{worker_id} runs the suspects {', '.join(suspects)} together")
            again = [task for task in running if task.recovery]
            share = math.ceil(slots * RECOVERY_SHARE)
            risen = any(task.id in newly for task in again) and len(again) > share
            if risen and tasks.claim_head(tx, "default", recovery=False, limit=1, place=place):
                told = f"{worker_id} runs {len(again)} of {slots} in recovery while fresh work is ready"
                raise Broken("recovery share", told)

    def _waits_for_its_checks(self, tx: Tx, task: Task) -> bool:
        """Taken over from a dead engine: it runs nothing before it is its turn."""
        found = checks.of_attempt(tx, task.id, task.attempts) if task.status == "pending_verification" else ()
        return bool(found) and all(each.status == "WAITING" for each in found)

    def _sweep_one(self, tx: Tx, task: Task) -> None:
        known = self.known[task.id]
        known.task = task
        if known.swept_version == task.version:
            return
        known.swept_version = task.version
        wrong = liveness.replayed(tx, task)
        if wrong is not None:
            raise Broken("7 history gives the status", f"{task.id}: {wrong}")
        fresh = task.attempts - known.swept_attempts
        numbers = [each.number for each in attempts.of_task(tx, task.id, fresh + 1)]
        if numbers != list(range(max(1, known.swept_attempts), task.attempts + 1)):
            raise Broken("attempt numbers rise by one", f"{task.id}: {numbers} at {task.attempts}")
        known.swept_attempts = task.attempts


class Probes:
    """The canaries of every breaker, as the events report them."""

    def __init__(self) -> None:
        self._tried: dict[str | None, int] = {}  # when it was placed, or a canary was sent that said something
        self._sent: dict[tuple[str, int], tuple[str, int]] = {}  # canary -> its breaker, and when it was tried before
        self._back: dict[str, str] = {}  # whose canary said nothing -> its breaker: they are held like the rest
        self._triaged: set[str] = set()  # the incidents that had their triage

    def kept(self) -> Probes:
        """As they are now, whatever is heard later."""
        kept = Probes()
        kept._tried, kept._sent, kept._triaged = dict(self._tried), dict(self._sent), set(self._triaged)
        kept._back = dict(self._back)
        return kept

    def last(self, key: str | None) -> int:
        """When this account was tried last."""
        return self._tried.get(key, 0)

    def hear(self, events: Iterable[Event]) -> set[str]:
        """Follow the holds; the tasks whose canary has shown that the time they waited for is over."""
        over: set[str] = set()
        for event in events:
            key = event.data.get("key")
            if event.name == "hold:placed" and not event.data["extended"]:
                self._tried[key] = event.at
            elif event.name == "incident:opened":
                self._triaged.discard(key)
            elif event.name == "triage:started" and (incident := event.data.get("incident")) is not None:
                if incident in self._triaged:
                    raise Broken("one triage for an incident", f"{incident} has a second one")
                self._triaged.add(incident)
            elif event.name == "hold:released":
                over |= {task_id for (task_id, _), (sent_for, _) in self._sent.items() if sent_for == key}
                over |= {task_id for task_id, sent_for in self._back.items() if sent_for == key}
        return over

    def sent(self, key: str, task_id: str, number: int, now: int) -> None:
        """A canary goes ahead."""
        self._sent[task_id, number] = key, self.last(key)
        self._tried[key] = now

    def ended(self, task_id: str, number: int, outcome: str | None) -> None:
        """A canary that was lost or taken back is no probe: the next one may follow at once."""
        key, before = self._sent.pop((task_id, number), (None, 0))
        self._back.pop(task_id, None)
        if key is not None and outcome in SAYS_NOTHING:
            self._tried[key] = before
            self._back[task_id] = key

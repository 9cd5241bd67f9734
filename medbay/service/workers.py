"""Leases: an engine registers, renews, stops; what a dead one was running goes through the door of every ending."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from medbay.core import rules
from medbay.core.model import DEFAULT_QUEUE, PRIVATE_QUEUES, Attempt, Event, Worker
from medbay.core.outcome import Lost, Output
from medbay.core.rules import Edit
from medbay.core.snapshot import ObservedWorker
from medbay.service import checks
from medbay.service.attempts import Claim, Finished
from medbay.store import attempts, tasks, workers
from medbay.store.apply import apply, write_events
from medbay.store.database import Tx

# What the host says of a worker's process: alive, dead hard, gone with a reboot, or on another machine.
Sighting = Literal["alive", "dead", "rebooted", "elsewhere"]


@dataclass(frozen=True, slots=True)
class Reaped:
    """A worker that was given up, with what it was running."""

    worker: Worker
    finished: tuple[Finished, ...]
    taken_over: int = 0  # attempts whose checks alone are repeated
    taken_up: tuple[Claim, ...] = ()  # attempts that still run where they were started, and are this worker's now


def fleet(tx: Tx, *, stopped: int = 0) -> list[ObservedWorker]:
    """Every worker that is not given up, oldest first; then those that ended last."""
    here = sorted(workers.alive(tx), key=lambda each: (each.started_at, each.id))
    seen = [ObservedWorker(each, tuple(attempts.live_of_worker(tx, each.id))) for each in here]
    return seen + [ObservedWorker(each) for each in (workers.ended(tx, stopped) if stopped else ())]


def register(tx: Tx, new: Worker) -> None:
    """A new engine begins, under an identity that was never used before."""
    workers.insert(tx, new)
    write_events(tx, (Event(name="worker:started", data={"worker": new.id, "host": new.host, "slots": new.slots}),))


def renew(tx: Tx, worker_id: str, lease_ms: int) -> bool:
    """Move the lease on; False when this identity was given up."""
    return workers.renew(tx, worker_id, lease_ms)


def stop(tx: Tx, worker: Worker) -> None:
    """An engine ends in order: nothing of its own is live any more."""
    if workers.end(tx, worker, how="stopped") is not None:
        write_events(tx, (Event(name="worker:stopped", data={"worker": worker.id, "host": worker.host}),))
        _adopt(tx, worker, serving_only=True)  # a triage that was handed back, a fix that was filed


def note_places(tx: Tx, worker: Worker, known: tuple[tuple[str, str], ...]) -> Worker:
    """Record which places this worker reaches; one that is away or back is an event."""
    before, events = dict(worker.places), []
    for name, why in known:
        if why and not before.get(name):
            events.append(Event(name="place:away", data={"place": name, "why": why, "worker": worker.id}))
        elif not why and before.get(name):
            events.append(Event(name="place:back", data={"place": name, "worker": worker.id}))
    if events:
        write_events(tx, tuple(events))
    return workers.note_places(tx, worker, known)


def find_dead(
    tx: Tx, me: Worker | None, *, see: Callable[[Worker], Sighting], grace_ms: int
) -> list[tuple[Worker, str, bool]]:
    """Other workers that cannot be running any more: who, why, and whether the engine died hard."""
    found = []
    for other in workers.alive(tx):
        if me is not None and other.id == me.id:
            continue
        match see(other):
            case "dead":
                found.append((other, "its engine died", True))
            case "rebooted":
                found.append((other, "its machine was restarted", False))
            case "elsewhere" if other.lease_until + grace_ms <= tx.now:
                found.append((other, f"no heartbeat from {other.host} for longer than its lease", True))
            case "alive" if other.lease_until + grace_ms <= tx.now:
                found.append((other, "its engine is there but lost its lease", False))
            case _:
                pass
    return found


def reap(
    tx: Tx,
    dead: Worker,
    me: Worker,
    *,
    why: str,
    hard: bool,
    crash_budget: int,
    places: Collection[str] = (),
    running: Collection[tuple[str, int]] = (),
    remains: Mapping[tuple[str, int], Output] = {},
) -> Reaped | None:
    """Give a dead worker up; None when another engine did it first. `running` are its attempts that still run."""
    ended = workers.end(tx, dead, how="crashed" if hard else "lost")
    if ended is None:
        return None
    write_events(tx, (Event(name="worker:lost", data={"worker": dead.id, "host": dead.host, "why": why}),))
    _adopt(tx, dead)
    left = inherit(
        tx,
        ended,
        me,
        why=why,
        hard=hard,
        crash_budget=crash_budget,
        places=places,
        running=running,
        remains=remains,
    )
    return left or Reaped(ended, ())


def inherit(
    tx: Tx,
    over: Worker,
    me: Worker,
    *,
    why: str,
    hard: bool,
    crash_budget: int,
    places: Collection[str] = (),
    running: Collection[tuple[str, int]] = (),
    remains: Mapping[tuple[str, int], Output] = {},
) -> Reaped | None:
    """The attempts of a worker that is over; None without any that this one can see to.

    Lost, but for those that still run where they were started, and checks that can be repeated here. What runs at a
    place that is not one of `places` is left to an engine that knows it: nobody else can say what became of it.
    """
    here = (over.machine_id, over.host) == (me.machine_id, me.host)
    tasks.lock(tx, {each.task_id for each in attempts.live_of_worker(tx, over.id)})
    finished, taken_over, taken_up = [], 0, []
    for each in attempts.live_of_worker(tx, over.id):  # asked again: another engine may have been faster
        if each.place and each.place not in places:
            continue
        crashed = hard and not each.place  # what runs elsewhere had no part in the death of its engine
        if (each.task_id, each.number) in running and (claim := _take_up(tx, each, me)) is not None:
            taken_up.append(claim)
        elif (here or each.place) and checks.take_over(tx, each, me, why=why, hard=crashed, crash_budget=crash_budget):
            taken_over += 1
        else:
            known = remains.get((each.task_id, each.number))
            lost = Lost(why=why, hard_crash=crashed)
            outcome = lost if known is None else replace(lost, output=known)
            finished.append(Finished(task_id=each.task_id, number=each.number, outcome=outcome))
    found = Reaped(over, tuple(finished), taken_over, tuple(taken_up))
    return found if finished or taken_over or taken_up else None


def unheard(tx: Tx, me: Worker, known: Collection[tuple[str, int]]) -> list[Claim]:
    """Attempts elsewhere that this worker took over by a commit whose answer it did not hear."""
    found = []
    for each in attempts.live_of_worker(tx, me.id):
        task = tasks.get(tx, each.task_id)
        checked = task is None or task.status == "pending_verification"
        if task is not None and each.place and not checked and (each.task_id, each.number) not in known:
            found.append(Claim(task, each))
    return found


def _take_up(tx: Tx, attempt: Attempt, me: Worker) -> Claim | None:
    """Let an attempt that still runs be this worker's; None when it is not there to be had, or is to be checked."""
    task = tasks.get(tx, attempt.task_id)
    if task is None or task.status == "pending_verification":  # its result is stored, its checks alone are missing
        return None
    if not attempts.take_over(tx, attempt, worker_id=me.id, host=attempt.host):
        return None
    taken = attempts.get(tx, attempt.task_id, attempt.number)
    return None if taken is None else Claim(task, taken)


def _adopt(tx: Tx, dead: Worker, *, serving_only: bool = False) -> None:
    """What a `medbay run` that died was doing goes to the ordinary queue, where an engine serves it."""
    for queue in dead.queues:
        if queue.startswith(PRIVATE_QUEUES):
            for task in tasks.unfinished_in_private_queue(tx, queue):
                if serving_only and not task.role:
                    continue
                edit = Edit(fields={"queue": DEFAULT_QUEUE})
                apply(tx, rules.on_edit_command(task, tx.now, actor="engine", edit=edit))

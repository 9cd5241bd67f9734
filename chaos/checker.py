"""The promises of a store, one function each: from the evidence of a run to what is broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from chaos.evidence import Evidence
from chaos.lives import Life
from chaos.record import Line
from medbay.sim.checks import check_as_it_is
from medbay.sim.ledger import Broken, KnownTask, TaskCommit

Told = Iterator[str]
SHOWN: Final = 5
LEASE_MS: Final = 30_000  # the shortest there is by default: whoever was faster has waited for none


def check(found: Evidence) -> list[str]:
    """Every promise that does not hold, with what was seen; nothing when all hold."""
    broken: list[str] = []
    for promise, rule in PROMISES:
        seen = list(rule(found))
        broken += [f"{promise}: {each}" for each in seen[:SHOWN]]
        if len(seen) > SHOWN:
            broken.append(f"{promise}: and {len(seen) - SHOWN} more")
    return broken + list(_lives(found))


def _nothing_is_lost(found: Evidence) -> Told:
    yield from (
        f"{task_id} was acknowledged and is not there" for task_id in found.acknowledged if task_id not in found.tasks
    )
    twice = [task_id for task_id, count in Counter(found.acknowledged).items() if count > 1]
    yield from (f"{task_id} was given to two tasks" for task_id in twice)


def _one_process_tree(found: Evidence) -> Told:
    for line in found.record.lines:
        if line.word == "double":
            yield f"{line.task_id}: attempt {line.number} ran beside an earlier one"


def _no_number_twice(found: Evidence) -> Told:
    for task_id in found.record.by_task:
        numbers = [line.number for line in found.record.of(task_id, "start")]
        if numbers != sorted(set(numbers)):
            yield f"{task_id}: started as attempts {numbers}"
    for task_id, rows in found.attempts.items():
        if [each.number for each in rows] != list(range(1, found.tasks[task_id].attempts + 1)):
            yield f"{task_id}: attempts {[each.number for each in rows]} at {found.tasks[task_id].attempts}"


def _claimed_before_it_ran(found: Evidence) -> Told:
    claimed = {(each.task_id, each.number) for rows in found.attempts.values() for each in rows}
    for line in found.record.lines:
        if (line.task_id, line.number) not in claimed:
            yield f"attempt {line.number} of {line.task_id} ran and is not in the store"


def _keys_say_who_it_is(found: Evidence) -> Told:
    for task_id, lines in found.record.by_task.items():
        keys = {line.key for line in lines}
        if len(keys) != 1:
            yield f"{task_id}: its attempts were given the keys {sorted(keys)}"
        for line in lines:
            if line.word != "check" and line.attempt_key != f"{found.store_id}:{task_id}:{line.number}":
                yield f"attempt {line.number} of {task_id} was marked {line.attempt_key}"


def _a_success_was_one(found: Evidence) -> Told:
    """What the store calls done has noted its end, once, and nothing of the task began after it."""
    for task_id, rows in found.attempts.items():
        good = [each.number for each in rows if each.outcome == "succeeded"]
        if found.tasks[task_id].status == "completed" and good != [found.tasks[task_id].attempts]:
            yield f"{task_id} is completed; of {len(rows)} attempts {good} succeeded"
        if not good:
            continue
        ended = [line.place for line in found.record.of(task_id, "end") if line.number == good[0]]
        if len(ended) != 1:
            yield f"attempt {good[0]} of {task_id} is recorded as succeeded and noted its end {len(ended)} times"
        later = [line for line in found.record.of(task_id, "start") if ended and line.place > ended[0]]
        if later:
            yield f"{task_id} was done, and attempt {later[0].number} began after that"


def _named_times_are_kept(found: Evidence) -> Told:
    for line in found.record.lines:
        if line.word != "named" or _ended_as(found, line.task_id, line.number) not in ("failed", "requeued"):
            continue
        until = int(line.more)
        later = [each for each in found.record.of(line.task_id, "start") if each.place > line.place]
        if not later:
            continue
        begun = later[0].at_us + 1000 * _set_forward_ms(found, line, later[0])
        if begun < until:
            yield f"{line.task_id} began {until - begun} us before the time its attempt {line.number} named"


def _set_forward_ms(found: Evidence, named: Line, begun: Line) -> int:
    """How far the daemons' clock went forward in between: they wait by it, while notes have the machine's own time.

    Only as far as they said that it jumped. What was named is stored after its note, what begins before it.
    """
    said = max((event.data["by_ms"] for event in found.events if event.name == "clock:jumped"), default=0)
    seen = _ahead_ms(found, begun, "task:started") - _ahead_ms(found, named, "task:failed", "task:requeued")
    return max(0, min(said, seen))


def _ahead_ms(found: Evidence, line: Line, *names: str) -> int:
    """How far the daemons' clock was ahead of the machine's when they stored what a note is about."""
    told = found.by_task.get(line.task_id, ())
    return next(event.at for event in told if event.attempt == line.number and event.name in names) - line.at_us // 1000


def _ended_as(found: Evidence, task_id: str, number: int) -> str:
    """Lost and handed back say nothing of what the work wanted; a stop in order is told apart by its event."""
    for event in found.by_task.get(task_id, ()):
        if event.attempt == number and event.name == "task:failed":
            return "failed"
        if event.attempt == number and event.name == "task:requeued" and event.data.get("asked"):
            return "requeued"
    return ""


def _order_is_kept(found: Evidence) -> Told:
    for task_id, before in found.after.items():
        starts = found.record.of(task_id, "start")
        for other in before:
            ends = found.record.of(other, "end")
            if starts and (not ends or starts[0].place < ends[0].place):
                yield f"{task_id} began before {other}, which it comes after, had ended"


def _history_gives_the_status(found: Evidence) -> Told:
    yield from (f"{task_id}: {why}" for task_id, why in found.wrong_histories.items())


def _nothing_stands_still(found: Evidence) -> Told:
    yield from (f"{task_id}: {why}" for task_id, why in found.standstills)


def _rows_fit(found: Evidence) -> Told:
    """The simulator's own checks of a task as it stands."""
    for task_id, task in found.tasks.items():
        rows = found.attempts[task_id]
        seen = TaskCommit(
            known=KnownTask(task, outcomes={each.number: str(each.outcome) for each in rows}),
            before=task,
            after=task,
            events=(),
            attempts=tuple(rows[-2:]),
            pending=found.pending[task_id],
            question=found.questions.get(task_id),
            prerequisites=(),
            processes={},
            now=found.now,
            latest=found.now,
            elapsed_ms=0,
        )
        try:
            check_as_it_is(seen)
        except Broken as error:
            yield str(error)


def _nothing_is_left_running(found: Evidence) -> Told:
    yield from (f"process {pid} of attempt {key} is still there" for pid, key in found.leftovers.items())


def _the_store_is_sound(found: Evidence) -> Told:
    yield from found.damage


def _no_daemon_broke(found: Evidence) -> Told:
    yield from found.deaths
    at = found.daemons_said.find("Traceback (most recent call last)")
    if at >= 0:
        yield found.daemons_said[at : at + 3000]


def _working_again_at_once(found: Evidence) -> Told:
    for pid, _ in found.kills:
        worker = found.workers.get(pid)
        if worker is not None and worker.how != "crashed":
            yield f"{worker.id} was killed, and ended as {worker.how or 'alive'}"
    slow = [each for each in taken_over_ms(found) if each > LEASE_MS]
    yield from (f"a killed daemon was given up only after {each} ms" for each in slow)


def taken_over_ms(found: Evidence) -> list[int]:
    """For each daemon that was killed after it had registered: until another gave it up and took over what it ran."""
    killed = {pid: at for pid, at in found.kills if pid in found.workers}
    ended = {pid: found.workers[pid].stopped_at for pid in killed}
    return [at - killed[pid] for pid, at in ended.items() if at is not None]


def working_again_ms(found: Evidence) -> list[int]:
    """After each kill, how long until anything was started again, also where nothing was to be done."""
    starts = [event.at for event in found.events if event.name == "task:started"]
    waits, at = [], 0
    for _, killed in sorted(found.kills, key=lambda each: each[1]):
        while at < len(starts) and starts[at] <= killed:
            at += 1
        if at < len(starts):
            waits.append(starts[at] - killed)
    return waits


def resumed_ms(found: Evidence) -> list[int]:
    """For each daemon that got to work: from the start of its process to its first claim."""
    first: dict[str, int] = {}
    for event in found.events:
        if event.name == "task:started":
            first.setdefault(str(event.data["worker"]), event.at)
    return [first[worker.id] - found.spawns[pid] for pid, worker in found.workers.items() if worker.id in first]


def _lives(found: Evidence) -> Told:
    """The promises that need a task's events in their order."""
    latest, lives = 0, {task_id: Life() for task_id in found.tasks}
    for event in found.events:
        latest = max(latest, event.at)
        life = lives.get(event.task_id or "")
        if life is None:
            continue
        yield from (f"{promise}: {event.task_id}: {told}" for promise, told in life.read(event, latest))
        if event.name == "task:started":
            waits = [each for each in found.after[event.task_id or ""] if lives[each].completed_seq is None]
            yield from (
                f"4 nothing overtakes: {event.task_id} was started before {each} was completed" for each in waits
            )
    for task_id, life in lives.items():
        task = found.tasks[task_id]
        if (task.streak, task.charged) != (life.streak, life.charged):
            yield f"5 streak: {task_id} has {task.streak}/{task.charged}, its events say {life.streak}/{life.charged}"


PROMISES: Final[tuple[tuple[str, Callable[[Evidence], Told]], ...]] = (
    ("1 no task is lost", _nothing_is_lost),
    ("2 one process tree per task", _one_process_tree),
    ("2 no attempt number twice", _no_number_twice),
    ("2 claimed before it ran", _claimed_before_it_ran),
    ("3 keys", _keys_say_who_it_is),
    ("3 a success is one, and is not repeated", _a_success_was_one),
    ("4 order", _order_is_kept),
    ("7 history gives the status", _history_gives_the_status),
    ("8 working again at once", _working_again_at_once),
    ("9 nothing before the named time", _named_times_are_kept),
    ("no silent standstill", _nothing_stands_still),
    ("rows fit", _rows_fit),
    ("nothing is left running", _nothing_is_left_running),
    ("the store is sound", _the_store_is_sound),
    ("no daemon broke", _no_daemon_broke),
)

"""Calls handed ahead: in which order they are made, what is taken back exactly, and whom a death or an end concerns."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from medbay.core.attempt.ahead import AHEAD_MAX, BRIEF_AHEAD_MAX, BRIEF_S, KEPT_MAX
from medbay.core.outcome import Cancelled, Failed, Outcome, Requeued, Succeeded, TimedOut
from medbay.places import files
from medbay.places.protocol import Feeding
from medbay.places.spools import SPOOLS
from medbay.places.tree import Trees
from medbay.runners.python import call as python_call
from medbay.runners.python import channel, process
from medbay.runners.python.call import PythonRunning
from medbay.runners.python.process import Lifetime
from medbay.runners.python.runner import PythonRunner
from tests.runners.calling import Caller, maker
from tests.runners.driving import LIMIT_S, finish, wait_until

MORE = """
import os, signal, sys, time

def note(word):
    with open("notes", "a") as notes: notes.write(f"{word}\\n")
    return os.getpid()
def nothing(word): pass
def die(word): note(word); print("last words", flush=True); os.kill(os.getpid(), signal.SIGKILL)
def hold(name):
    print("holding", flush=True)
    while not os.path.exists(name): time.sleep(0.005)
    return os.getpid()
def note_and_hold(name): note("held"); hold(name)
def speak(word): print(word); return note(word)
def result(word): open(os.environ["MEDBAY_RESULT"], "w").write('{"summary": "%s"}' % word)
def result_and_die(word): result(word); os.kill(os.getpid(), signal.SIGKILL)
def speak_bytes(numbers): os.write(1, bytes(numbers))
def much(size): os.write(1, b"x" * size)
"""


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Caller]:
    """One process that is known to be quick."""
    runner = PythonRunner(Trees(0.3), workers=1)
    yield prepared(tmp_path, runner)
    runner.close()


def prepared(home: Path, runner: PythonRunner) -> Caller:
    """A caller whose process has made a short call."""
    (home / "more.py").write_text(MORE, encoding="utf-8")
    call = Caller(home, runner)
    call("more:note", "first")
    while not runner.room_ahead(1):
        call("more:nothing", 0)
    return call


def ahead(call: Caller, function: str, *words: Any, **changes: Any) -> list[PythonRunning]:
    """One call for each word, all handed ahead."""
    return [call.start(f"more:{function}", word, ahead=True, **changes) for word in words]


def settle(
    calls: Sequence[PythonRunning], runner: PythonRunner | None = None, *, free: int | None = None
) -> list[Outcome]:
    """Poll all to their ends as the engine does, with so many free slots for what waits; else with one slot for all."""
    until_s = time.monotonic() + LIMIT_S
    while True:
        outcomes = [each.poll(time.monotonic()) for each in calls]
        found = [outcome for outcome in outcomes if outcome is not None]
        if len(found) == len(calls):
            return found
        assert time.monotonic() < until_s, "did not end in time"
        at_work = sum(outcome is None and not each.waiting for each, outcome in zip(calls, outcomes, strict=True))
        by = calls[0]._runner if runner is None else runner
        by.begin_waiting(max(0, 1 - at_work) if free is None else free, time.monotonic())
        time.sleep(0.001)


def notes(call: Caller) -> list[str]:
    """What the calls wrote down, in the order they were made."""
    return (call.home / "notes").read_text().split()


def noted_sends(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Every message that is sent to a process from here on."""
    sent: list[bytes] = []

    def send(to: Any, message: bytes, **options: Any) -> None:
        sent.append(message)
        real(to, message, **options)

    real = channel.send
    monkeypatch.setattr(process, "send", send)
    return sent


def value(outcome: Outcome) -> Any:
    """What a call returned."""
    assert isinstance(outcome, Succeeded), outcome
    assert outcome.output.result is not None
    return outcome.output.result["value"]


def test_calls_ahead_are_made_in_their_order_by_the_same_process(call: Caller) -> None:
    """One after the other; none takes a slot before it is begun."""
    first = call.start("more:note", 0)
    behind = ahead(call, "note", *range(1, 8))

    assert [each.waiting for each in (first, *behind)] == [False] + [True] * 7
    outcomes = settle([first, *behind])

    assert notes(call) == ["first", *map(str, range(8))]
    assert {value(outcome) for outcome in outcomes} == {maker(first).pid}
    assert all(each.left_nothing for each in (first, *behind))


def test_what_comes_behind_a_call_is_sent_together(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """When several are there, all have been handed over, or one before them answers; never more than it may have."""
    sent = noted_sends(monkeypatch)
    first = call.start("more:hold", "go")

    counts = []
    behind = ahead(call, "note", 0, 1)
    counts.append(len(sent))
    call.runner.begin_waiting(0, time.monotonic())
    counts.append(len(sent))
    behind += ahead(call, "note", *range(2, 7))
    counts.append(len(sent))
    (call.home / "go").touch()
    settle([first, *behind])

    assert (counts, len(sent)) == ([1, 3, 3], 8)
    assert notes(call) == ["first", *map(str, range(7))]

    (call.home / "go").unlink()
    sent.clear()
    first = call.start("more:hold", "go")
    behind = ahead(call, "note", *range(7, 47))
    call.runner.begin_waiting(0, time.monotonic())
    handed = len(sent)
    (call.home / "go").touch()
    settle([first, *behind])

    assert (handed, len(sent)) == (1 + BRIEF_AHEAD_MAX, 41)
    assert notes(call) == ["first", *map(str, range(47))]


def test_what_was_not_sent_begins_when_the_engine_says_so(call: Caller) -> None:
    """The answer before it sends nothing: without the lease it may not begin, and it needs a slot."""
    first = call.start("more:hold", "go")
    one, two, three = ahead(call, "note", 1, 2, 3)
    (call.home / "go").touch()
    wait_until(lambda: first.poll(time.monotonic()), first)

    call.runner.begin_waiting(0, time.monotonic())
    still = [each.waiting for each in (one, two, three)]
    one.cancel(time.monotonic())
    outcomes = settle([one, two, three])

    assert (still, call.runner.count_waiting()) == ([True] * 3, 0)
    assert isinstance(outcomes[0], Cancelled)
    assert notes(call) == ["first", "2", "3"]
    assert {value(outcome) for outcome in outcomes[1:]} == {maker(first).pid}


def test_what_is_taken_back_beside_another_is_not_sent_before_the_engine_says_so(
    call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stopping engine withdraws one call after the other: the process is given none of the rest meanwhile."""
    first = call.start("more:note_and_hold", "go")
    behind = ahead(call, "note", *range(20))
    call.runner.begin_waiting(0, time.monotonic())
    wait_until(lambda: "held" in notes(call))
    sent = noted_sends(monkeypatch)
    for each in behind[:5]:
        each.hand_back(time.monotonic(), why="the worker is stopping")

    assert sent == []
    (call.home / "go").touch()
    settle([first, *behind])
    assert notes(call) == ["first", "held", *map(str, range(5, 20))]


def test_no_more_is_sent_ahead_than_to_a_process_whose_calls_are_brief(call: Caller) -> None:
    """Calls that came to take longer after they were claimed: eight wait with the process, the rest here."""
    first = call.start("more:hold", "go")
    behind = ahead(call, "note", *range(20))
    worker = first.worker
    assert worker is not None
    call.runner.withdraw(behind[-1])
    worker.average_s = BRIEF_S * 2

    call.runner.begin_waiting(0, time.monotonic())

    assert len(worker.keys) - len(worker.unsent) == 1 + AHEAD_MAX
    (call.home / "go").touch()
    settle([first, *behind[:-1]])


def test_a_call_that_cannot_be_sent_keeps_its_place(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long one needs a descriptor, of which there may be none for a while; none behind it is made before it."""

    def send(to: Any, message: bytes, **options: Any) -> None:
        if full and b"x" * 100 in message:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        real(to, message, **options)

    real, full = channel.send, True
    monkeypatch.setattr(process, "send", send)
    first = call.start("more:hold", "go")
    long = ahead(call, "note", "x" * 100)
    (call.home / "go").touch()
    wait_until(lambda: first.poll(time.monotonic()), first)
    call.runner.begin_waiting(1, time.monotonic())
    short = ahead(call, "note", "short")
    call.runner.begin_waiting(1, time.monotonic())
    waiting = [each.waiting for each in (*long, *short)]
    full = False

    settle([*long, *short])

    assert waiting == [True, True]
    assert notes(call) == ["first", "x" * 100, "short"]


@pytest.mark.parametrize(("brief_s", "most"), [(0.0, AHEAD_MAX), (1.0, BRIEF_AHEAD_MAX + KEPT_MAX)])
def test_there_is_room_for_many_behind_a_process_with_short_calls(
    call: Caller, monkeypatch: pytest.MonkeyPatch, brief_s: float, most: int
) -> None:
    """For 8, where they are brief for 64; none before anything is known of it, nor behind a call that lasts."""
    monkeypatch.setattr(process, "BRIEF_S", brief_s)
    runner, here = call.runner, str(call.home)
    assert isinstance(runner, Feeding)
    assert (runner.room_ahead(0), runner.room_ahead(1)) == ({}, {here: most})
    assert PythonRunner(Trees(0.3)).room_ahead(4) == {}

    first = call.start("more:hold", "go")
    rooms = []
    behind: list[PythonRunning] = []
    for n in range(3):
        rooms.append(runner.room_ahead(0)[here])
        behind += ahead(call, "note", n)
    wait_until(lambda: first.identity, first)
    lasting = runner.room_ahead(0)
    (call.home / "go").touch()

    settle([first, *behind])
    assert (rooms, lasting) == ([most, most - 1, most - 2], {})
    assert (AHEAD_MAX, BRIEF_AHEAD_MAX) == (8, 32)


def test_what_waits_behind_a_call_that_lasts_is_given_to_another_process(call: Caller) -> None:
    """As soon as there is a slot, and each is made once."""
    first = call.start("more:hold", "go")
    behind = ahead(call, "note", *range(4))
    wait_until(lambda: first.identity, first)
    assert all(each.waiting for each in behind)

    outcomes = settle(behind, call.runner, free=1)
    (call.home / "go").touch()

    assert sorted(notes(call)) == ["0", "1", "2", "3", "first"]
    assert maker(first).pid not in {value(outcome) for outcome in outcomes}
    assert value(finish(first)) == maker(first).pid


def test_what_waits_is_begun_by_the_process_that_becomes_free(call: Caller) -> None:
    """Without a slot of its own: it takes over that of the call that ended."""
    first = call.start("more:hold", "go")
    behind = ahead(call, "note", *range(3))
    wait_until(lambda: first.identity, first)
    (call.home / "go").touch()

    outcomes = settle([first, *behind])

    assert notes(call) == ["first", "0", "1", "2"]
    assert {value(outcome) for outcome in outcomes} == {maker(first).pid}


@pytest.mark.parametrize("position", [0, 2, 4])
def test_a_death_is_the_failure_of_the_call_it_happened_in(call: Caller, position: int) -> None:
    """The others are made once, those behind it by another process."""
    names = ["note"] * 5
    names[position] = "die"
    calls = [call.start(f"more:{name}", n, ahead=n > 0) for n, name in enumerate(names)]

    outcomes = settle(calls, call.runner, free=1)

    assert sorted(notes(call)) == ["0", "1", "2", "3", "4", "first"]
    for n, outcome in enumerate(outcomes):
        if n == position:
            assert isinstance(outcome, Failed)
            assert (outcome.signal, outcome.output.tail) == (signal.SIGKILL, "last words\n")
            assert not calls[n].left_nothing
        else:
            assert isinstance(outcome, Succeeded)


@pytest.mark.parametrize("lasting", [False, True])
def test_a_process_that_dies_between_calls_takes_nothing_with_it(call: Caller, lasting: bool) -> None:
    """Nobody is charged for it, also when it took so long to receive a call that this was watched already."""
    pid = call.value("pid")
    os.kill(pid, signal.SIGSTOP)
    calls = [call.start("more:note", 0), *ahead(call, "note", 1, 2)]
    if lasting:
        wait_until(lambda: calls[0].identity, calls[0])
    os.kill(pid, signal.SIGKILL)

    outcomes = settle(calls, call.runner, free=1)

    assert sorted(notes(call)) == ["0", "1", "2", "first"]
    assert all(isinstance(outcome, Succeeded) for outcome in outcomes)


def test_each_process_makes_no_more_calls_than_it_should(tmp_path: Path) -> None:
    """What was handed to it beyond that is made by the next."""
    runner = PythonRunner(Trees(0.3), workers=1, lifetime=Lifetime(calls_max=40))
    call = prepared(tmp_path, runner)
    pids: list[int] = []
    while len(pids) < 90:
        calls = [call.start("more:note", 0), *ahead(call, "note", *range(1, 9))]
        pids += [value(outcome) for outcome in settle(calls)]

    assert len(notes(call)) == 91
    counts = [pids.count(pid) for pid in dict.fromkeys(pids)]
    assert len(counts) in (3, 4)
    assert max(counts) <= 40
    assert counts[1] == 40
    runner.close()


def test_an_answer_heard_with_another_keeps_nobody_waiting(tmp_path: Path) -> None:
    """Also when it was the last of its process, which is let go before anybody asks for that call again."""
    runner = PythonRunner(Trees(0.3), workers=1, lifetime=Lifetime(calls_max=6))
    call = prepared(tmp_path, runner)
    first, *behind = [call.start("more:note", 0), *ahead(call, "note", *range(1, 9))]
    assert first.worker is not None
    wait_until(first.worker.is_over)

    now_s = time.monotonic()
    first.poll(now_s)  # hears all answers of the process and lets it go
    heard = [each for each in behind if each.worker is first.worker and not each.waiting]
    assert heard
    assert all(each.fileno() == -1 for each in heard)
    assert all((each.deadline_s() or 0) <= now_s for each in heard)

    settle([first, *behind], runner, free=1)
    assert len(notes(call)) == 10
    runner.close()


def test_calls_ahead_know_the_code_as_it_is_when_they_are_made(call: Caller) -> None:
    """A process with old code passes on what it has."""
    (call.home / "late.py").write_text("def f(word): return 'old'\n")
    assert call.value("late:f", 0) == "old"
    first = call.start("more:hold", "go")
    behind = [call.start("late:f", n, ahead=True) for n in range(3)]
    (call.home / "late.py").write_text("def f(word): return 'new'\n")
    os.utime(call.home / "late.py", ns=(1, 1))
    (call.home / "go").touch()

    outcomes = settle([first, *behind], call.runner, free=1)

    assert [value(outcome) for outcome in outcomes[1:]] == ["new"] * 3


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("how", ["cancel", "hand_back", "kill"])
def test_what_is_not_begun_ends_at_once_and_never_begins(call: Caller, how: str, lasting: bool) -> None:
    """The call before it and those behind it are made as if nothing was."""
    first = call.start("more:hold", "go")
    one, two, three = ahead(call, "note", 1, 2, 3)
    if lasting:
        wait_until(lambda: first.identity, first)
    match how:
        case "cancel":
            two.cancel(time.monotonic())
        case "hand_back":
            two.hand_back(time.monotonic(), why="the worker is stopping")
        case _:
            two.kill()

    outcome = two.poll(time.monotonic())
    (call.home / "go").touch()
    settle([first, one, three])

    assert isinstance(outcome, Cancelled if how == "cancel" else Requeued)
    assert isinstance(outcome, Cancelled) or not outcome.asked
    assert two.left_nothing
    assert notes(call) == ["first", "1", "3"]
    assert not Path(two.launch.log_path).exists()


def test_ending_the_call_that_is_made_leaves_the_others_to_be_made(call: Caller) -> None:
    """They were not begun."""
    first = call.start("more:hold", "never")
    behind = ahead(call, "note", 1, 2)

    first.cancel(time.monotonic())
    ended = settle([first, *behind], call.runner, free=1)

    assert isinstance(ended[0], Cancelled)
    assert sorted(notes(call)) == ["1", "2", "first"]


def test_killing_all_leaves_nothing_and_the_next_call_finds_a_process(call: Caller) -> None:
    """As an engine does that lost its lease and forgets what it had."""
    calls = [call.start("more:hold", "never"), *ahead(call, "note", 1, 2)]
    for each in calls:
        each.kill()

    assert all(isinstance(outcome, Requeued) for outcome in settle(calls))
    assert notes(call) == ["first"]
    assert call.value("add", 1) == {"sum": 1}


def test_what_waits_too_long_is_handed_back(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else may be free."""
    monkeypatch.setattr(python_call, "WAITING_S", 0.1)
    first = call.start("more:hold", "go")
    (second,) = ahead(call, "note", 1)

    (outcome,) = settle([second])
    (call.home / "go").touch()
    finish(first)

    assert isinstance(outcome, Requeued)
    assert not outcome.asked
    assert notes(call) == ["first"]


def test_the_time_limit_counts_from_the_beginning(call: Caller) -> None:
    """Not from when it was handed."""
    first = call.start("more:hold", "go")
    quick, slow = ahead(call, "note", 1, timeout_s=0.2) + [call.start("more:hold", "never", ahead=True, timeout_s=0.2)]
    late_s = time.monotonic() + 0.3
    wait_until(lambda: time.monotonic() > late_s, first)
    (call.home / "go").touch()

    outcomes = settle([first, quick, slow])

    assert [type(outcome) for outcome in outcomes] == [Succeeded, Succeeded, TimedOut]


def test_a_call_that_writes_little_makes_no_file_and_one_that_writes_much_has_its_own(call: Caller) -> None:
    """In whatever order; nothing of one is in the log of another, or in what is told of it."""
    much = "x" * files.TEXT_BYTES_MAX
    said = [("note", 0), ("speak", 1), ("speak", much), ("note", 3), ("speak", 4), ("speak", much), ("speak", 6)]
    calls = [call.start(f"more:{name}", given, ahead=n > 0) for n, (name, given) in enumerate(said)]

    outcomes = settle(calls)

    assert [outcome.output.text() for outcome in outcomes] == ["", "1\n", f"{much}\n", "", "4\n", f"{much}\n", "6\n"]
    assert [outcome.output.total_bytes for outcome in outcomes] == [0, 2, len(much) + 1, 0, 2, len(much) + 1, 2]
    paths = [Path(each.launch.log_path) for each in calls]
    kept = [path.read_text() if path.exists() else None for path in paths]
    assert kept == [None, None, f"{much}\n", None, None, f"{much}\n", None]


def test_what_the_store_could_not_keep_as_it_is_has_a_file(call: Caller) -> None:
    """However short: bytes that are no text, and NUL."""
    odd = call.start("more:speak_bytes", [0xFF, 0])

    outcome = finish(odd)

    assert (outcome.output.tail, outcome.output.total_bytes) == ("\ufffd\ufffd", 2)
    assert Path(odd.launch.log_path).read_bytes() == b"\xff\0"


def test_the_log_of_a_call_that_lasts_can_be_read_while_it_does(call: Caller) -> None:
    """And is its log afterwards; the next one has another."""
    running = call.start("more:hold", "go")
    log = Path(running.launch.log_path)
    wait_until(lambda: log.exists() and log.read_text() == "holding\n", running)
    (call.home / "go").touch()

    outcome, after = finish(running), call("speak", "next")

    assert outcome.output.tail == log.read_text() == "holding\n"
    assert "holding" not in after.output.tail


def test_a_log_that_was_shown_for_a_silent_call_is_its_empty_log(call: Caller) -> None:
    """What comes after it is not in there."""
    running = call.start("sleeps", 0.3)
    log = Path(running.launch.log_path)
    wait_until(log.exists, running)
    finish(running)

    call("speak", "later")

    assert log.read_text() == ""


def test_an_old_log_of_the_same_name_is_set_aside(call: Caller) -> None:
    """It belongs to another life of the store."""
    old = call.home / "logs" / f"{call.number + 1}.log"
    old.parent.mkdir(exist_ok=True)
    old.write_text("old")

    outcome = call("more:speak", "new")

    assert (outcome.output.tail, old.read_text()) == ("new\n", "new\n")
    assert old.with_name(f"{old.name}.old").read_text() == "old"


def test_a_result_file_belongs_to_the_call_that_wrote_it(call: Caller) -> None:
    """Also when the process dies in it."""
    names = ["result", "note", "result_and_die", "note"]
    calls = [call.start(f"more:{name}", n, ahead=n > 0) for n, name in enumerate(names)]

    outcomes = settle(calls, call.runner, free=1)

    said = [(outcome.output.result or {}).get("summary") for outcome in outcomes]
    assert said == ["0", None, "2", None]
    kept = [Path(each.launch.result_path).exists() for each in calls]
    assert kept == [True, False, True, False]


def test_a_short_call_that_writes_much_keeps_to_the_limit_of_its_log(call: Caller) -> None:
    """Nobody watched it."""
    outcome = call("more:much", 12_000_000)

    about = (call.home / "logs" / f"{call.number}.log").stat()
    assert outcome.output.total_bytes == about.st_size == 12_000_000
    assert about.st_blocks * 512 < 6_000_000


def test_the_files_of_processes_go_with_them(tmp_path: Path) -> None:
    """Also those that a dead engine left; those of a living one stay."""
    home = tmp_path / "home"
    spools = tmp_path / "home" / SPOOLS
    spools.mkdir(parents=True, mode=0o700)
    (spools / "4194304.1.1").touch()
    (spools / "1.0.1").touch()
    runner = PythonRunner(Trees(0.3), workers=2)
    call = prepared(home, runner)
    during = {each.name for each in spools.iterdir()}
    call("killed")
    call("leaves_thread")

    runner.close()

    assert "4194304.1.1" not in during
    assert len([name for name in during if name.startswith(f"{os.getpid()}.")]) == 1
    assert list(spools.glob(f"{os.getpid()}.*")) == []

"""`medbay run`: real commands through the installed command, and what its caller sees of them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from medbay.cli.live.output import Cleaner, Tail
from medbay.cli.live.run import own_code
from medbay.core.model import Attempt, Task
from medbay.store.tasks import TaskFilter
from tests.cli.calling import COMMAND, Cli
from tests.waiting import wait_for

QUICK = """\
[engine]
grace = "1s"
[policy.ladder.transient]
delays = ["20ms"]
[policy.ladder.unknown]
delays = ["20ms"]
max_retries = 1
[policy.ladder.timeout]
delays = ["20ms"]
max_retries = 0
[policy.ladder.code_error]
delays = ["20ms"]
max_retries = 0
"""


@pytest.fixture
def quick(cli: Cli) -> Cli:
    """A project in which everything is retried after milliseconds."""
    (cli.folder / "medbay.toml").write_text(QUICK, encoding="utf-8")
    return cli


def test_a_command_that_succeeds_gives_its_output_and_zero(quick: Cli) -> None:
    """Output on stdout, progress on stderr, and where to look afterwards."""
    ran = quick("run", "--", "echo", "--all", "hello")

    assert (ran.code, ran.out) == (0, "--all hello\n")
    assert ran.err.splitlines()[1] == "▶ attempt 1"
    assert f"exit 0     medbay show {only_task(quick).id}" in ran.err


def test_a_line_for_the_shell_is_run_by_the_shell(quick: Cli) -> None:
    """`--run` takes one string, and the options reach the task."""
    ran = quick("run", "--env", "WHO=you", "--cwd", "/", "--tag", "nightly", "--run", "pwd; echo $WHO | cat")

    assert ran.out == "/\nyou\n"
    assert only_task(quick).tags == ("nightly",)


def test_exhaustion_gives_the_code_of_the_command(quick: Cli) -> None:
    """Used up: the code it would have had without us, and the question for later."""
    ran = quick("run", "--run", "exit 3")

    task = only_task(quick)
    assert ran.code == 3
    assert (task.status, task.block_kind, task.attempts) == ("blocked", "exhausted", 2)
    assert f"medbay answer {task.id} 1" in ran.err


@pytest.mark.parametrize(
    ("options", "code"),
    [(("--timeout", "100ms", "--", "sleep", "1000"), 124), (("--run", "kill -SEGV $$"), 128 + signal.SIGSEGV)],
)
def test_limits_and_signals_give_the_codes_a_shell_gives(quick: Cli, options: tuple[str, ...], code: int) -> None:
    """124 after a time limit, 128 and the signal after a crash."""
    assert quick("run", *options).code == code


@pytest.mark.parametrize("options", [("--", "no-such-command"), ("--run", "no-such-command")])
def test_a_missing_command_is_handed_to_a_person(quick: Cli, options: tuple[str, ...]) -> None:
    """Nothing to retry: exit 75 after one attempt, with the answer to type."""
    ran = quick("run", *options)

    task = only_task(quick)
    assert (ran.code, task.block_kind, task.attempts) == (75, "human", 1)
    assert f"medbay answer {task.id} 1" in ran.err


def test_what_a_person_gets_can_be_run_by_up_after_the_answer(quick: Cli) -> None:
    """The queue was ours alone; an answered task must not wait in it for nobody."""
    quick("run", "--run", "[ -e here ] || { echo 'HTTP/1.1 401 Unauthorized'; exit 1; }")
    (quick.folder / "here").touch()

    quick.good("answer", only_task(quick).id, "1")
    assert quick("up", "--until-idle").code == 0

    assert only_task(quick).status == "completed"


def test_it_heals_after_two_failures(quick: Cli) -> None:
    """Each attempt is told with its diagnosis, the end with the number of attempts."""
    script = "[ $MEDBAY_ATTEMPT = 3 ] || { echo connect ECONNREFUSED; exit 7; }; echo fine"

    ran = quick("run", "--run", script)

    assert (ran.code, ran.out) == (0, "connect ECONNREFUSED\nconnect ECONNREFUSED\nfine\n")
    assert ran.err.count("✗ exit 7 after ") == 2
    assert "transient/network" in ran.err and "◷ again in " in ran.err
    assert "healed: 3 attempts" in ran.err


def test_bytes_pass_through_a_pipe_unchanged(quick: Cli) -> None:
    """No byte is touched, and no note of ours stands among them."""
    raw = bytes(range(256)) * 2_000 + b"no newline at the end"
    (quick.folder / "raw").write_bytes(raw)

    ran = subprocess.run([COMMAND, "run", "--", "cat", "raw"], cwd=quick.folder, capture_output=True, timeout=60)

    assert ran.stdout == raw


def test_our_notes_in_a_log_are_not_passed_on(quick: Cli) -> None:
    """The line about the time limit is for readers of the log, not output of the command."""
    ran = quick("run", "--timeout", "200ms", "--run", "echo mine; exec sleep 1000")

    assert ran.out == "mine\n"


def test_a_store_is_made_where_there_is_none(bare: Cli) -> None:
    """Said in one line; the folder is private."""
    ran = bare("run", "--", "true")

    assert ran.code == 0
    assert f"made {bare.folder / '.medbay'}" in ran.err.splitlines()[0]
    assert (bare.folder / ".medbay").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("options", [(), ("--run", "true", "--", "true"), ("--priority", "9", "--", "true")])
def test_wrong_usage_is_refused_before_anything_runs(quick: Cli, options: tuple[str, ...]) -> None:
    """One line, exit 2, and no task."""
    ran = quick("run", *options)

    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert quick.bay().select() == []


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_cancels_and_leaves_no_process(quick: Cli, sent: signal.Signals) -> None:
    """The whole tree is gone before it exits with 128 and the signal."""
    with started(quick, "run", "--run", "(setsid sleep 1000 &) ; echo up; sleep 1000") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"

        process.send_signal(sent)

        assert process.wait(30) == 128 + sent
    assert only_task(quick).status == "cancelled"
    assert processes_of(quick) == []


def test_a_second_signal_kills_what_does_not_listen(cli: Cli) -> None:
    """The grace of ten seconds is cut short."""
    began_s = time.monotonic()
    with started(cli, "run", "--run", "trap '' TERM INT; echo up; while :; do sleep 0.1; done") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        process.send_signal(signal.SIGINT)
        wait_until_it_says(process, b"waiting for its processes")

        process.send_signal(signal.SIGINT)

        assert process.wait(30) == 130
    assert time.monotonic() - began_s < 9
    assert only_task(cli).status == "cancelled"
    assert processes_of(cli) == []


def test_a_signal_while_it_waits_gives_up_at_once(cli: Cli) -> None:
    """Between two attempts there is nothing to wait for."""
    with started(cli, "run", "--run", "echo connect ECONNREFUSED; exit 7") as process:
        wait_until_it_says(process, b"again in")

        process.send_signal(signal.SIGINT)

        assert process.wait(30) == 130
    assert only_task(cli).status == "cancelled"


def test_a_reader_that_goes_away_ends_it(quick: Cli) -> None:
    """`medbay run -- yes | head` ends like `yes | head`."""
    with started(quick, "run", "--", "yes") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"y\n"

        process.stdout.close()

        assert process.wait(30) == 141
    assert only_task(quick).status == "cancelled"


def test_a_slow_reader_does_not_stop_the_time_limit(quick: Cli) -> None:
    """Output that nobody takes waits in the log; the limit strikes all the same."""
    with started(quick, "run", "--timeout", "300ms", "--", "yes") as process:
        bay = quick.bay()
        wait_for(lambda: [task.status for task in bay.select()] == ["blocked"])

        assert process.poll() is None
        process.kill()


def test_a_cancel_from_elsewhere_ends_it(quick: Cli) -> None:
    """Another terminal cancels the task; this one ends with it."""
    with started(quick, "run", "--run", "echo up; sleep 1000") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"

        quick.good("cancel", only_task(quick).id)

        assert process.wait(30) == 1


def test_a_terminal_sees_colours_and_nothing_worse(quick: Cli) -> None:
    """Titles, cursor moves and the clipboard stay out; the countdown is in place."""
    script = r"printf '\033[31mred\033[0m \033]0;title\007\033[2J\033[Hplain\b\n'; [ $MEDBAY_ATTEMPT = 2 ] || exit 7"

    ran = quick.terminal("run", "--run", script)

    assert ran.code == 0
    assert "\x1b[31mred\x1b[0m" in ran.out
    assert "title" not in ran.out and "\x1b[2J" not in ran.out and "\x1b[H" not in ran.out
    assert "▶ attempt 2  waited " in ran.out


def test_without_colours_there_are_none(quick: Cli) -> None:
    """NO_COLOR removes the colours and keeps the words."""
    ran = quick.screen("run", "--", "true", env={"NO_COLOR": "1"})

    assert "✓ after" in ran.out
    assert "\x1b[3" not in ran.out and "\x1b[1" not in ran.out


def test_a_sequence_cut_in_half_is_still_recognised() -> None:
    """Pieces of output end anywhere."""
    cleaner = Cleaner(colours=True)

    told = b"".join(cleaner.feed(bytes([each])) for each in "a\x1b[31mé\x1b]0;x\x07\x1b[2Kb\n".encode())

    assert told.decode() == "a\x1b[31mé" + "b\n"


def test_a_log_longer_than_its_limit_passes_with_its_gap(tmp_path: Path) -> None:
    """Where the middle was dropped before it could be read, a line says so."""
    path = tmp_path / "log"
    with open(path, "wb") as handle:
        handle.write(b"a" * 8_192)
        handle.seek(1 << 20)
        handle.write(b"b" * 8_192)
    told: list[bytes] = []
    tail = Tail(told.append)

    tail.follow(path)
    wait_for(tail.finish)
    tail.close()

    whole = b"".join(told)
    assert whole.startswith(b"a" * 8_192) and whole.endswith(b"b" * 8_192)
    assert b"bytes dropped here" in whole and b"\0" not in whole


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"outcome": "failed", "exit_code": 9}, 9),
        ({"outcome": "failed", "signal": 9}, 137),
        ({"outcome": "timed_out", "signal": 15}, 124),
        ({"outcome": "lost"}, 0),
    ],
)
def test_the_code_of_an_attempt_is_what_a_shell_would_say(how: dict[str, object], code: int) -> None:
    """Exit code, signal or time limit."""
    attempt = Attempt(task_id="a", number=1, worker_id="w", host="h", **how)  # type: ignore[arg-type]

    assert own_code([attempt]) == code


@contextmanager
def started(cli: Cli, *args: str) -> Iterator[subprocess.Popen[bytes]]:
    """The installed command, running; killed at the end if it still is."""
    with subprocess.Popen(
        [COMMAND, *args], cwd=cli.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until_it_says(process: subprocess.Popen[bytes], words: bytes) -> None:
    """Read its lines on stderr up to the one with these words."""
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return
    raise AssertionError(f"it never said {words!r}")


def only_task(cli: Cli) -> Task:
    """The one task of the store."""
    (task,) = cli.bay().select(TaskFilter())
    return task


def processes_of(cli: Cli) -> list[int]:
    """Every process of this machine that an attempt of this store started."""
    mark = f"MEDBAY_ATTEMPT_KEY={cli.bay().store.store_id}:".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                if mark in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found

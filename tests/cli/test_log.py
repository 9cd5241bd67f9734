"""`medbay log`: raw into a pipe, colours only on a terminal, and what the store kept when the file is gone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from medbay.cli.log import _follow, read_bytes
from tests.cli.calling import COMMAND, Cli

NOISY = r"printf '\033[31mred\033[0m \033[2J\033]0;owned\007 bytes \377\n'; exit "


LONG = "seq 1 30000"  # more than the store keeps


def ran(cli: Cli, command: str) -> str:
    """A task whose first attempt has ended."""
    task_id = cli.add("a", "--run", command)
    bay = cli.bay()
    bay.daemon(workers=1).run(until=lambda: bay.get(task_id).status not in ("pending", "in_progress"))
    return task_id


def test_piped_it_is_exactly_what_was_printed(cli: Cli) -> None:
    """Every byte of it."""
    task_id = ran(cli, NOISY + "0")
    path = Path(cli.bay().attempts(task_id)[0].log_path)

    told = subprocess.run([COMMAND, "log", task_id], cwd=cli.folder, capture_output=True, timeout=60).stdout

    assert told == path.read_bytes()
    assert b"\x1b]0;owned\x07 bytes \xff" in told


def test_on_a_terminal_only_colours_pass(cli: Cli) -> None:
    """No cursor movement, no title, no raw bytes."""
    told = cli.screen("log", ran(cli, NOISY + "0")).out

    assert "\x1b[31mred\x1b[0m" in told
    assert "owned" not in told
    assert "\x1b[2J" not in told
    assert "bytes \ufffd" in told


def test_a_log_that_ends_without_a_line_break_gets_one_on_a_terminal(cli: Cli) -> None:
    """The prompt starts on a line of its own."""
    task_id = ran(cli, "printf unfinished")

    assert cli.screen("log", task_id).out == "unfinished\n"
    assert cli("log", task_id).out == "unfinished"


def test_an_attempt_can_be_chosen(cli: Cli) -> None:
    """By its number; an unknown one is not found."""
    task_id = ran(cli, "echo only one; exit 0")

    assert cli("log", task_id, "--attempt", "1").out == "only one\n"
    missing = cli("log", task_id, "--attempt", "7")
    assert missing.code == 3
    assert missing.err == f"medbay: {task_id} has no attempt 7; it had 1; medbay show {task_id}\n"


def test_a_task_that_did_not_start_has_no_log(cli: Cli) -> None:
    """Exit 3, and where to look."""
    task_id = cli.add("a")

    called = cli("log", task_id)

    assert called.code == 3
    assert called.err.endswith(f"medbay explain {task_id} says why\n")


def test_without_the_file_the_store_still_has_its_ends(cli: Cli) -> None:
    """As on another machine; host and path are named where something is missing."""
    task_id = ran(cli, LONG)
    path = Path(cli.bay().attempts(task_id)[0].log_path)
    path.unlink()

    called = cli("log", task_id)

    assert called.out.startswith("1\n2\n") and called.out.endswith("\n30000\n")
    assert str(path) in called.err


def test_what_the_store_has_all_of_needs_no_file(cli: Cli) -> None:
    """As of a short Python call."""
    task_id = ran(cli, "echo kept by the store")
    Path(cli.bay().attempts(task_id)[0].log_path).unlink()

    called = cli("log", task_id)

    assert (called.out, called.err) == ("kept by the store\n", "")


def test_following_ends_with_the_task(cli: Cli) -> None:
    """Everything was printed, and nothing more will come."""
    task_id = ran(cli, "echo all of it")

    called = cli("log", task_id, "-f")

    assert (called.code, called.out) == (0, "all of it\n")
    assert called.err == "attempt 1\n"


def test_following_goes_on_into_the_next_attempt(cli: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    """Until the task has ended."""
    task_id = ran(cli, "if [ -e flag ]; then echo second; else touch flag; echo ECONNREFUSED; exit 1; fi")
    bay = cli.bay()

    def try_again(_: float) -> None:
        bay.retry(task_id)
        bay.daemon(workers=1).run(until=lambda: bay.get(task_id).finished)

    capsys.readouterr()
    _follow(bay, bay.get(task_id), None, wait=try_again)

    told = capsys.readouterr()
    assert told.out == "ECONNREFUSED\nsecond\n"
    assert told.err == "attempt 1\nattempt 2\n"


def test_following_says_once_what_has_no_file(cli: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    """As a short Python call that failed: while the next attempt is waited for, nothing comes again."""
    task_id = ran(cli, "echo ECONNREFUSED; exit 1")
    bay = cli.bay()
    Path(bay.attempts(task_id)[0].log_path).unlink()
    looks = 0

    def look_again(_: float) -> None:
        nonlocal looks
        looks += 1
        if looks == 5:
            bay.cancel(task_id)

    capsys.readouterr()
    _follow(bay, bay.get(task_id), None, wait=look_again)

    told = capsys.readouterr()
    assert (told.out, told.err, looks) == ("ECONNREFUSED\n", "attempt 1\n", 5)


@pytest.mark.parametrize("command", ["true", "exit 3", "kill -TERM $$"])
def test_what_printed_nothing_is_said_to_have_printed_nothing(cli: Cli, command: str) -> None:
    """A short command that is silent has no file; its log was not lost."""
    task_id = ran(cli, command)
    Path(cli.bay().attempts(task_id)[0].log_path).unlink(missing_ok=True)

    called, found = cli("log", task_id), cli.good("log", task_id, "--json").json

    assert (called.code, called.out, called.err) == (0, "", "attempt 1 printed nothing\n")
    assert (found["text"], found["whole"]) == ("", True)


def test_a_log_is_data_too(cli: Cli) -> None:
    """Text and where it came from; without the file, what the store kept."""
    task_id = ran(cli, "echo some text")

    found = cli.good("log", task_id, "--json").json

    assert (found["task"], found["attempt"], found["text"], found["whole"]) == (task_id, 1, "some text\n", True)
    Path(found["log_path"]).unlink()
    again = cli.good("log", task_id, "--json").json
    assert (again["text"], again["whole"]) == ("some text\n", True)


def test_the_ends_of_a_log_are_not_the_whole(cli: Cli) -> None:
    """Whoever reads the data is told."""
    task_id = ran(cli, LONG)
    Path(cli.bay().attempts(task_id)[0].log_path).unlink()

    assert cli.good("log", task_id, "--json").json["whole"] is False


def test_following_one_attempt_ends_with_it(cli: Cli) -> None:
    """Even though the task goes on."""
    task_id = ran(cli, "echo ECONNREFUSED; exit 1")

    assert cli("log", task_id, "-f", "--attempt", "1").out == "ECONNREFUSED\n"


def test_what_was_dropped_from_a_long_log_is_one_line(tmp_path: Path) -> None:
    """The hole is shown, not its zeros."""
    path = tmp_path / "log"
    with open(path, "wb") as file:
        file.write(b"head\n" + b"x" * (1 << 20))
        file.seek(8 << 20)
        file.write(b"tail\n")
    offset, told = 0, b""
    while (step := read_bytes(path, offset))[1] > offset:
        told, offset = told + step[0], step[1]

    if b"dropped here" not in told:
        pytest.skip("this file system keeps no holes")
    assert told.startswith(b"head\n")
    assert told.endswith(b"tail\n")
    assert len(told) < 2 << 20


def test_following_what_ran_elsewhere_ends_with_what_the_store_kept(cli: Cli) -> None:
    """Nothing can be read while it runs; its ends come when it has ended, with host and path."""
    task_id = ran(cli, LONG)
    attempt = cli.bay().attempts(task_id)[0]
    Path(attempt.log_path).unlink()

    called = cli("log", task_id, "-f")

    assert called.out.endswith("\n30000\n")
    assert f"{attempt.host}:{attempt.log_path} cannot be read here" in called.err


def test_what_was_dropped_of_a_very_long_log_is_said(cli: Cli) -> None:
    """In the place of it and once more at the end, where it is seen."""
    task_id = ran(cli, "echo begin; head -c 40000000 /dev/zero | tr '\\0' 'x'; sleep 1; echo; echo end")

    called = cli("log", task_id)

    assert called.out.startswith("begin\n")
    assert called.out.endswith("\nend\n")
    assert len(called.out) < 10_000_000
    assert "in the middle were dropped while it was written: the first " in called.err

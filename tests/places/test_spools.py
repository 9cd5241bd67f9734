"""Where short commands write: a file for those that write nothing, a log of its own for each that does."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from medbay.core.outcome import Failed, Succeeded, TimedOut
from medbay.errors import SpawnFailed
from medbay.places.protocol import LASTING_S
from medbay.places.spools import SPOOLS
from medbay.places.tree import Trees
from medbay.runners.shell.runner import ShellRunner, ShellRunning
from tests.runners.driving import finish, launch, pids_in, start, wait_until


@pytest.fixture
def runner(tmp_path: Path) -> ShellRunner:
    """One whose commands are known to be short."""
    runner = ShellRunner(Trees(0.3))
    first = start(launch(tmp_path, ["true"], log_path=f"{tmp_path}/log", result_path=f"{tmp_path}/result"))
    finish(first)
    runner.pace.ended(first.tree, took_s=0.001)
    return runner


def begin(
    runner: ShellRunner, home: Path, command: Any, number: int = 1, *, may_last: bool = False, **changes: Any
) -> ShellRunning:
    """Start one with files of its own; however slow the machine is, it does not last unless it may."""
    logs = home / "logs" / "k7f2"
    names = {"log_path": f"{logs}/{number}.log", "result_path": f"{logs}/{number}.result.json"}
    begun_s = time.monotonic() + (0 if may_last else 1_000)
    running = runner.start(launch(home, command, number=number, **{**names, **changes}), begun_s)
    assert isinstance(running, ShellRunning)
    return running


def spools(home: Path) -> list[Path]:
    """The files that wait for whom they will belong to."""
    return sorted((home / "logs" / SPOOLS).iterdir())


def logs(home: Path) -> dict[str, str]:
    """What each attempt has."""
    return {path.name: path.read_text() for path in sorted((home / "logs" / "k7f2").glob("*"))}


def test_commands_that_write_nothing_share_one_file(tmp_path: Path, runner: ShellRunner) -> None:
    """And have no log of their own."""
    outcomes = [finish(begin(runner, tmp_path, ["true"], number)) for number in range(5)]

    assert all(isinstance(each, Succeeded) and each.output.total_bytes == 0 for each in outcomes)
    assert [path.stat().st_size for path in spools(tmp_path)] == [0]
    assert not (tmp_path / "logs" / "k7f2").exists()
    runner.close()
    assert spools(tmp_path) == []


def test_each_command_that_writes_has_its_own_log(tmp_path: Path, runner: ShellRunner) -> None:
    """For the owner only, whether it failed or not."""
    for number, command in enumerate(["echo one", "true", "echo three >&2; exit 3", "true", "echo five"], 1):
        finish(begin(runner, tmp_path, command, number))

    assert logs(tmp_path) == {"1.log": "one\n", "3.log": "three\n", "5.log": "five\n"}
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "logs" / "k7f2").iterdir()} == {0o600}
    assert [path.stat().st_size for path in spools(tmp_path)] in ([], [0])


def test_the_record_has_what_it_wrote(tmp_path: Path, runner: ShellRunner) -> None:
    """As with a log that was there from the start."""
    outcome = finish(begin(runner, tmp_path, "echo some words; exit 4"))

    assert isinstance(outcome, Failed)
    assert (outcome.exit_code, outcome.output.tail, outcome.output.total_bytes) == (4, "some words\n", 11)
    assert outcome.output.log_path == str(tmp_path / "logs" / "k7f2" / "1.log")


def test_two_at_once_write_to_two_files(tmp_path: Path, runner: ShellRunner) -> None:
    """Nothing of one is in the log of the other."""
    both = [begin(runner, tmp_path, f"echo {n}; while ! [ -e go ]; do sleep 0.01; done; echo {n}", n) for n in (1, 2)]
    (tmp_path / "go").touch()

    for each in both:
        finish(each)

    assert logs(tmp_path) == {"1.log": "1\n1\n", "2.log": "2\n2\n"}


def test_what_a_command_left_running_never_writes_into_the_log_of_another(tmp_path: Path, runner: ShellRunner) -> None:
    """Not even when it opened its output anew."""
    late = "setsid sh -c 'echo $$ > pid; exec > /dev/stdout; while ! [ -e go ]; do sleep 0.01; done; echo late' & "
    finish(begin(runner, tmp_path, late + "while ! [ -s pid ]; do sleep 0.01; done", 1))
    after = [begin(runner, tmp_path, "while ! [ -e told ]; do sleep 0.01; done", n) for n in (2, 3)]

    (tmp_path / "go").touch()
    (pid,) = pids_in(tmp_path / "pid")
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"))
    (tmp_path / "told").touch()
    for each in after:
        finish(each)

    found = logs(tmp_path)
    assert found["1.log"] == "late\n"
    assert [text for name, text in found.items() if name != "1.log"] in ([], ["", ""], [""])


def test_without_leases_no_file_is_used_twice(
    tmp_path: Path, runner: ShellRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody could say that it has no writer."""
    real = fcntl.fcntl

    def refuse(descriptor: int, what: int, value: int = 0) -> int:
        if what == fcntl.F_SETLEASE:
            raise OSError(errno.EINVAL, "no leases here")
        return real(descriptor, what, value)

    monkeypatch.setattr(fcntl, "fcntl", refuse)
    for number in (1, 2):
        finish(begin(runner, tmp_path, ["true"], number))

    assert logs(tmp_path) == {"1.log": "", "2.log": ""}


def test_the_log_of_a_command_that_lasts_can_be_read_while_it_writes(tmp_path: Path, runner: ShellRunner) -> None:
    """From a moment after its start; there is time set for that."""
    running = begin(runner, tmp_path, "echo early; while ! [ -e go ]; do sleep 0.01; done; echo late", may_last=True)
    deadline = running.deadline_s()
    log = tmp_path / "logs" / "k7f2" / "1.log"
    assert not log.exists()

    wait_until(lambda: log.exists() and log.read_text() == "early\n", running)
    (tmp_path / "go").touch()
    finish(running)

    assert deadline is not None
    assert deadline < time.monotonic() + LASTING_S
    assert log.read_text() == "early\nlate\n"
    assert spools(tmp_path) == []


@pytest.mark.parametrize("links", [True, False])
def test_a_long_log_is_kept_to_its_limit_whatever_it_is_called(
    tmp_path: Path, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it was moved, because there are no links."""
    runner = ShellRunner(Trees(0.3, head_bytes=4_096, tail_bytes=8_192))
    first = begin(runner, tmp_path, ["true"], 9)
    finish(first)
    runner.pace.ended(first.tree, took_s=0.001)
    if not links:
        monkeypatch.setattr(os, "link", _no_link)
    much = "i=0; while [ $i -lt 40 ]; do head -c 10000 /dev/zero | tr '\\0' x; i=$((i+1)); sleep 0.01; done"

    outcome = finish(begin(runner, tmp_path, much, may_last=True))

    log = tmp_path / "logs" / "k7f2" / "1.log"
    assert outcome.output.total_bytes == 400_000
    assert log.stat().st_size == 400_000
    assert log.stat().st_blocks * 512 < 100_000


def _no_link(*_: Any) -> None:
    raise OSError(errno.EPERM, "no links here")


def test_a_result_is_found_and_kept(tmp_path: Path, runner: ShellRunner) -> None:
    """Where results are, with the attempt it belongs to."""
    outcome = finish(begin(runner, tmp_path, """echo '{"summary": "made it"}' > "$MEDBAY_RESULT" """))

    assert isinstance(outcome, Succeeded)
    assert outcome.output.result == {"summary": "made it"}
    assert (tmp_path / "logs" / "k7f2" / "1.result.json").exists()
    assert not [path for path in spools(tmp_path) if path.name.endswith(".json")]


def test_a_result_that_comes_late_is_nobody_elses(tmp_path: Path, runner: ShellRunner) -> None:
    """Each attempt is told another name."""
    for number in (1, 2):
        finish(begin(runner, tmp_path, 'echo "$MEDBAY_RESULT" >> names', number))

    assert len(set((tmp_path / "names").read_text().split())) == 2


def test_a_wrong_result_is_told_in_the_log(tmp_path: Path, runner: ShellRunner) -> None:
    """Though the command wrote nothing."""
    finish(begin(runner, tmp_path, 'echo nonsense > "$MEDBAY_RESULT"'))

    assert "result file ignored" in logs(tmp_path)["1.log"]


def test_why_it_was_ended_is_told_in_the_log(tmp_path: Path, runner: ShellRunner) -> None:
    """Though the command wrote nothing."""
    outcome = finish(begin(runner, tmp_path, ["sleep", "100"], timeout_s=0.01, may_last=True))

    assert isinstance(outcome, TimedOut)
    assert "time limit" in logs(tmp_path)["1.log"]


def test_what_could_not_start_has_its_reason_in_its_log(tmp_path: Path, runner: ShellRunner) -> None:
    """And the next one has another file."""
    with pytest.raises(SpawnFailed, match="command not found"):
        begin(runner, tmp_path, ["no-such-command"])
    finish(begin(runner, tmp_path, ["true"], 2))

    assert list(logs(tmp_path)) == ["1.log"]
    assert "command not found" in logs(tmp_path)["1.log"]


def test_files_that_somebody_removed_are_made_anew(tmp_path: Path, runner: ShellRunner) -> None:
    """The commands never notice."""
    finish(begin(runner, tmp_path, ["true"], 1))
    subprocess.run(["rm", "-r", str(tmp_path / "logs")], check=True)

    finish(begin(runner, tmp_path, ["echo", "here"], 2))

    assert logs(tmp_path) == {"2.log": "here\n"}


def test_a_log_that_cannot_be_placed_is_read_where_it_is(tmp_path: Path, runner: ShellRunner) -> None:
    """Its words are in the record."""
    (tmp_path / "logs").mkdir(exist_ok=True)
    (tmp_path / "logs" / "k7f2").write_text("a file where the folder should be")

    outcome = finish(begin(runner, tmp_path, "echo still heard; exit 1"))

    assert outcome.output.tail == "still heard\n"


@pytest.mark.parametrize("changes", [{"keep_log": True}, {"part": "check-1"}])
def test_some_have_their_log_from_the_first_byte_on(
    tmp_path: Path, runner: ShellRunner, changes: dict[str, Any]
) -> None:
    """An engine died over it before, or it is a check."""
    running = begin(runner, tmp_path, ["true"], **changes)

    assert (tmp_path / "logs" / "k7f2" / "1.log").exists()
    finish(running)


def test_what_a_dead_engine_left_is_removed(tmp_path: Path, runner: ShellRunner) -> None:
    """Not what a living one has."""
    folder = tmp_path / "logs" / SPOOLS
    folder.mkdir(parents=True)
    (folder / "999999999.1.1").touch()
    (folder / "999999999.1.k7f2.1.json").touch()

    finish(begin(runner, tmp_path, ["true"]))

    assert [path.name.split(".")[0] for path in spools(tmp_path)] == [str(os.getpid())]

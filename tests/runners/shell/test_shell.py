"""The shell runner with real processes: how commands start, end, and are reported."""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import stat
import time
from pathlib import Path

import pytest

from medbay.core.outcome import Cancelled, Failed, Requeued, Succeeded, TimedOut
from medbay.errors import SpawnFailed
from medbay.places.processes import is_alive
from medbay.places.protocol import Runner, Running
from medbay.places.tree import Trees
from medbay.runners.result import ANSWER_CHARS_MAX
from medbay.runners.shell.runner import ShellRunner, ShellRunning
from tests.runners.driving import IN_A_LINE, PYTHON, finish, launch, pids_in, run, start, wait_until

STUBBORN = "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(100)"


def test_a_command_that_exits_zero_succeeded(tmp_path: Path) -> None:
    """Exit 0 is success, with the output as its tail."""
    outcome = run(tmp_path, ["echo", "hello"])

    assert isinstance(outcome, Succeeded)
    assert outcome.output.tail == "hello\n"
    assert outcome.output.total_bytes == 6
    assert outcome.output.log_path.endswith("logs/k7f2/1.log")


def test_a_command_that_exits_otherwise_failed_with_its_code(tmp_path: Path) -> None:
    """Standard error is in the same log."""
    outcome = run(tmp_path, "echo bad >&2; exit 3")

    assert isinstance(outcome, Failed)
    assert (outcome.exit_code, outcome.signal) == (3, None)
    assert outcome.output.tail == "bad\n"


def test_a_command_that_dies_by_a_signal_failed_with_that_signal(tmp_path: Path) -> None:
    """A signal is no exit code."""
    outcome = run(tmp_path, "kill -SEGV $$")

    assert isinstance(outcome, Failed)
    assert (outcome.exit_code, outcome.signal) == (None, signal.SIGSEGV)


def test_shell_metacharacters_in_an_argument_list_are_not_interpreted(tmp_path: Path) -> None:
    """Only a string goes through a shell."""
    outcome = run(tmp_path, ["echo", "$(touch owned); `id` | x > y & * ~"])

    assert outcome.output.tail == "$(touch owned); `id` | x > y & * ~\n"
    assert not (tmp_path / "owned").exists()


def test_a_string_goes_through_the_shell(tmp_path: Path) -> None:
    """Because it was asked for."""
    outcome = run(tmp_path, "printf '%s' $((6 * 7)) | cat")

    assert outcome.output.tail == "42"


def test_binary_output_with_nul_bytes_is_kept_raw_and_read_as_text(tmp_path: Path) -> None:
    """The file keeps every byte; the text has replacements that any database takes."""
    outcome = run(tmp_path, r"printf 'a\000b\377c\n'")

    assert outcome.output.tail == "a\ufffdb\ufffdc\n"
    assert (tmp_path / "logs/k7f2/1.log").read_bytes() == b"a\0b\xffc\n"


def test_a_hundred_megabytes_of_output_take_bounded_disk(tmp_path: Path) -> None:
    """Head and tail stay, the middle is punched out, the size is told."""
    line = "x" * 99
    code = f"import sys\nfor i in range(1_000_000): sys.stdout.write('{line}\\n')\nprint('the end')"

    outcome = run(tmp_path, [PYTHON, "-c", "print('the beginning');" + code.replace("import sys\n", "import sys;\n")])

    assert isinstance(outcome, Succeeded)
    assert outcome.output.total_bytes > 100_000_000
    assert outcome.output.head.startswith("the beginning\n")
    assert outcome.output.tail.endswith("the end\n")
    assert (tmp_path / "logs/k7f2/1.log").stat().st_blocks * 512 < 5_200_000


def test_an_answer_without_end_takes_bounded_disk(tmp_path: Path) -> None:
    """Whatever was started before the kernel could be told of a limit; its beginning is enough to refuse it."""
    answer = tmp_path / "answer"
    outcome = run(tmp_path, "head -c 50000000 /dev/zero | tr '\\0' x; echo log >&2", answer_path=answer)

    assert isinstance(outcome, Succeeded)
    assert answer.stat().st_size >= 50_000_000
    assert answer.stat().st_blocks * 512 < 5_300_000
    assert len((outcome.output.result or {})["answer"]) == ANSWER_CHARS_MAX + 1
    assert outcome.output.tail == "log\n"


def test_where_no_hole_can_be_punched_the_log_limit_ends_the_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some file systems cannot."""
    monkeypatch.setattr("medbay.places.log_cap.punch_hole", lambda *_: 95)
    runner = ShellRunner(Trees(5, head_bytes=1000, tail_bytes=1000))

    outcome = finish(start(launch(tmp_path, "yes"), runner))

    assert isinstance(outcome, Failed)
    assert outcome.log_limit_hit
    assert outcome.output.tail.splitlines()[-1].startswith("[medbay] ended: log limit")


def test_the_time_limit_ends_a_stubborn_command_after_the_grace(tmp_path: Path) -> None:
    """One that ignores SIGTERM is killed."""
    running = start(launch(tmp_path, [PYTHON, "-c", STUBBORN], timeout_s=0.6))

    outcome = finish(running)

    assert isinstance(outcome, TimedOut)
    assert outcome.limit_s == 0.6
    assert outcome.signal == signal.SIGKILL
    assert outcome.output.tail == "deaf\n[medbay] ended: time limit of 0.6 s\n"
    assert not is_alive(running.tree.identity)


def test_a_command_may_tidy_up_within_the_grace(tmp_path: Path) -> None:
    """SIGTERM comes first, and its exit code is reported."""
    loop = "trap 'echo tidy; exit 4' TERM; echo on; while :; do sleep 0.01; done"
    outcome = finish(start(launch(tmp_path, loop, timeout_s=0.3), ShellRunner(Trees(20.0))))

    assert isinstance(outcome, TimedOut)
    assert outcome.exit_code == 4
    assert "tidy" in outcome.output.tail


def test_the_time_limit_also_ends_children_in_sessions_of_their_own(tmp_path: Path) -> None:
    """Found by their environment and by their parents, though they ignore SIGTERM."""
    pids = tmp_path / "pids"
    child = f"import os, signal, time; signal.signal(15, signal.SIG_IGN); open({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n'); time.sleep(100)"  # noqa: E501
    (tmp_path / "child.py").write_text(child)
    command = f"setsid {IN_A_LINE} child.py & (setsid {IN_A_LINE} child.py &) ; {IN_A_LINE} child.py & wait"
    running = start(launch(tmp_path, command, timeout_s=1.5))
    wait_until(lambda: pids_in(pids, 3), running)

    outcome = finish(running)

    assert isinstance(outcome, TimedOut)
    assert [pid for pid in pids_in(pids, 3) if _runs(pid)] == []


def test_a_child_that_cleared_its_environment_is_ended_with_its_parent(tmp_path: Path) -> None:
    """Parent links find what the environment does not."""
    pids = tmp_path / "pids"
    command = f"setsid env -i /bin/sh -c 'echo $$ >> {pids}; exec /bin/sleep 100' & wait"
    running = start(launch(tmp_path, command))
    wait_until(lambda: pids_in(pids), running)

    running.cancel(time.monotonic())
    outcome = finish(running)

    assert isinstance(outcome, Cancelled)
    assert not _runs(pids_in(pids)[0])


def test_a_stopped_command_still_ends_on_sigterm(tmp_path: Path) -> None:
    """SIGCONT lets it act on it."""
    running = start(launch(tmp_path, ["sleep", "100"]), ShellRunner(Trees(20)))
    os.kill(running.tree.identity.pid, signal.SIGSTOP)
    begun = time.monotonic()

    running.cancel(begun)

    assert isinstance(finish(running), Cancelled)
    assert time.monotonic() - begun < 15


def test_cancel_ends_the_tree_and_says_cancelled(tmp_path: Path) -> None:
    """Polling again gives the same answer."""
    running = start(launch(tmp_path, "sleep 100 & sleep 100"))

    running.cancel(time.monotonic())
    outcome = finish(running)

    assert isinstance(outcome, Cancelled)
    assert running.poll(time.monotonic()) is outcome
    assert running.deadline_s() is None
    assert running.fileno() == -1


def test_cancel_counts_also_while_a_time_limit_is_being_enforced(tmp_path: Path) -> None:
    """What a person asked for comes first."""
    running = start(launch(tmp_path, [PYTHON, "-c", STUBBORN], timeout_s=0.4), ShellRunner(Trees(0.5)))
    struck = time.monotonic() + 0.4
    wait_until(lambda: time.monotonic() > struck, running)
    assert running.poll(time.monotonic()) is None

    running.cancel(time.monotonic())

    assert isinstance(finish(running), Cancelled)


def test_what_ended_by_itself_before_the_cancel_keeps_its_outcome(tmp_path: Path) -> None:
    """A success is a fact."""
    running = start(launch(tmp_path, ["true"]))
    _wait_readable(running)

    running.cancel(time.monotonic())

    assert isinstance(finish(running), Succeeded)


def test_handing_back_ends_the_tree_and_requeues(tmp_path: Path) -> None:
    """Also when it exits 0 on SIGTERM: nobody knows whether its work was done."""
    running = start(launch(tmp_path, "trap 'exit 0' TERM; echo on; while :; do sleep 0.01; done"))
    log = tmp_path / "logs/k7f2/1.log"
    wait_until(lambda: log.read_text(), running)

    running.hand_back(time.monotonic(), why="the worker stops")
    outcome = finish(running)

    assert isinstance(outcome, Requeued)
    assert (outcome.asked, outcome.why, outcome.exit_code) == (False, "the worker stops", 0)


def test_kill_ends_everything_at_once(tmp_path: Path) -> None:
    """No grace, own sessions included."""
    pids = tmp_path / "pids"
    running = start(launch(tmp_path, f"setsid sh -c 'echo $$ >> {pids}; sleep 100' & wait"), ShellRunner(Trees(60)))
    wait_until(lambda: pids_in(pids), running)

    running.kill()

    wait_until(lambda: not _runs(pids_in(pids)[0]))
    outcome = finish(running)
    assert isinstance(outcome, Requeued)
    assert not outcome.asked


def test_exit_75_asks_to_be_tried_again_when_it_says(tmp_path: Path) -> None:
    """The result file names the time."""
    outcome = run(tmp_path, """echo '{"retry_after": "10m", "summary": "busy"}' > "$MEDBAY_RESULT"; exit 75""")

    assert isinstance(outcome, Requeued)
    assert (outcome.asked, outcome.why, outcome.retry_after, outcome.exit_code) == (True, "busy", "10m", 75)


def test_a_result_that_says_failed_is_a_failure_with_exit_0(tmp_path: Path) -> None:
    """The command knows better than its exit code."""
    outcome = run(tmp_path, """echo '{"outcome": "failed", "category": "timeout"}' > "$MEDBAY_RESULT" """)

    assert isinstance(outcome, Failed)
    assert outcome.exit_code == 0
    assert outcome.output.result == {"outcome": "failed", "category": "timeout"}


@pytest.mark.parametrize("said", ["not json", '{"outcome": "failed"', "[1]", '{"outcome": "half done"}'])
def test_a_result_that_cannot_be_read_is_no_success(tmp_path: Path, said: str) -> None:
    """The job tried to say how it ended, so its good exit status is not believed; the log says why."""
    outcome = run(tmp_path, f"""echo '{said}' > "$MEDBAY_RESULT" """)

    assert isinstance(outcome, Failed)
    assert outcome.output.result is not None
    assert outcome.output.result["category"] == "malformed_output"
    assert "its result file does not say how" in outcome.output.result["summary"]
    assert outcome.output.tail.startswith("[medbay] result file ignored: ")


def test_a_result_that_cannot_be_read_does_not_hide_why_it_failed(tmp_path: Path) -> None:
    """With a bad exit status the output counts, as without a result."""
    outcome = run(tmp_path, 'echo "not json" > "$MEDBAY_RESULT"; echo "Connection refused"; exit 1')

    assert isinstance(outcome, Failed)
    assert outcome.output.result is None
    assert "Connection refused" in outcome.output.tail


def test_a_field_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    """The rest counts, and the log says which."""
    outcome = run(tmp_path, """echo '{"summary": "made it", "artifacts": 3}' > "$MEDBAY_RESULT" """)

    assert isinstance(outcome, Succeeded)
    assert outcome.output.result == {"summary": "made it"}
    assert outcome.output.tail.startswith("[medbay] result file ignored: wrong value for artifacts")


def test_a_result_of_an_earlier_attempt_is_not_taken_for_this_one(tmp_path: Path) -> None:
    """It is removed before the start."""
    what = launch(tmp_path, ["true"])
    result = Path(what.result_path)
    result.parent.mkdir(parents=True)
    result.write_text(json.dumps({"outcome": "failed"}))

    assert isinstance(finish(start(what)), Succeeded)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["no-such-command-here"], "command not found: no-such-command-here (ENOENT)"),
        (["./plain"], "permission denied: ./plain (EACCES)"),
        (["./orphan"], "interpreter not found for command: ./orphan (ENOENT)"),
        (["./garbage"], "not an executable file: ./garbage (ENOEXEC)"),
        (["echo", "a\0b"], "cannot start echo: embedded null byte"),
        (["echo", "x" * 200_000], "arguments or environment too long: echo (E2BIG)"),
        ([], "cannot start nothing: the command is empty"),
    ],
)
def test_what_cannot_be_started_says_why(tmp_path: Path, command: list[str], words: str) -> None:
    """In the error and in the log."""
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    for name, text in (("orphan", "#!/no/such/interpreter\n"), ("garbage", "\x01\x02")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)

    with pytest.raises(SpawnFailed) as caught:
        start(launch(tmp_path, command))

    assert caught.value.message == words
    assert (tmp_path / "logs/k7f2/1.log").read_text() == f"[medbay] {words}\n"


@pytest.mark.parametrize(
    ("name", "words"),
    [("nowhere", "working directory does not exist: "), ("file", "working directory is not a directory: ")],
)
def test_a_wrong_working_directory_is_named(tmp_path: Path, name: str, words: str) -> None:
    """And not blamed on the command."""
    (tmp_path / "file").touch()

    with pytest.raises(SpawnFailed, match=words):
        start(launch(tmp_path, ["true"], cwd=tmp_path / name))


def test_a_log_that_cannot_be_created_is_a_failed_spawn(tmp_path: Path) -> None:
    """With the reason of the system."""
    (tmp_path / "logs").write_text("in the way")

    with pytest.raises(SpawnFailed, match=r"cannot create the log file .*ENOTDIR"):
        start(launch(tmp_path, ["true"]))


def test_log_and_directories_are_for_the_owner_only(tmp_path: Path) -> None:
    """Whatever they hold."""
    run(tmp_path, ["true"])

    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("logs", "logs/k7f2", "logs/k7f2/1.log")]
    assert modes == [0o700, 0o700, 0o600]


def test_a_link_in_place_of_the_log_is_not_followed(tmp_path: Path) -> None:
    """It is set aside."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "logs/k7f2").mkdir(parents=True)
    (tmp_path / "logs/k7f2/1.log").symlink_to(victim)

    outcome = run(tmp_path, ["echo", "x"])

    assert outcome.output.tail == "x\n"
    assert victim.read_text() == "precious"


def test_the_environment_says_who_it_is_and_holds_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inherited, less secrets and the store, plus ours; the task's own wins over what is inherited."""
    monkeypatch.setenv("MEDBAY_STORE", "postgres://user:pw@host/db")
    monkeypatch.setenv("MEDBAY_STORE_URL", "postgres://user:pw@host/db")
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setenv("KEPT", "inherited")
    monkeypatch.setenv("CHANGED", "inherited")
    what = launch(
        tmp_path,
        ["env", "-0"],
        env={"CHANGED": "asked", "MEDBAY_STORE": "x", "MEDBAY_TASK": "forged"},
        guidance="use\0 less memory\nplease" + "é" * 70_000,
    )

    finish(start(what, ShellRunner(Trees(1, ["*_TOKEN"]))))
    raw = (tmp_path / "logs/k7f2/1.log").read_text().split("\0")
    seen = dict(pair.split("=", 1) for pair in raw if pair)

    ours = {name: value for name, value in seen.items() if name.startswith("MEDBAY_")}
    assert ours.pop("MEDBAY_GUIDANCE").startswith("use less memory\nplease" + "é" * 30_000)
    assert ours == {
        "MEDBAY_TASK": "k7f2",
        "MEDBAY_ATTEMPT": "1",
        "MEDBAY_KEY": "k7f2:0",
        "MEDBAY_ATTEMPT_KEY": what.attempt_key,
        "MEDBAY_RESULT": str(what.result_path),
    }
    assert "GITHUB_TOKEN" not in seen
    assert (seen["KEPT"], seen["CHANGED"]) == ("inherited", "asked")


def test_standard_input_is_empty_and_no_terminal(tmp_path: Path) -> None:
    """A command that asks a question gets an end of file, not a hang."""
    code = "import os, sys; print(sys.stdin.read() == '', sys.stdin.isatty(), os.getsid(0) == os.getpid())"

    outcome = run(tmp_path, [PYTHON, "-c", code])

    assert outcome.output.tail == "True False True\n"


def test_the_memory_limit_holds_for_the_whole_tree(tmp_path: Path) -> None:
    """Two processes that are each below it are over it together."""
    hog = "import time; data = bytearray(60_000_000); print('full', flush=True); time.sleep(100)"

    outcome = run(tmp_path, f'{IN_A_LINE} -c "{hog}" & {IN_A_LINE} -c "{hog}"; wait', memory_bytes=100_000_000)

    assert isinstance(outcome, Failed)
    assert outcome.memory_limit_hit
    assert outcome.signal == signal.SIGKILL
    assert "memory limit of 100000000 bytes" in outcome.output.tail


def test_a_command_below_its_limits_is_left_alone(tmp_path: Path) -> None:
    """Memory that was reserved and not used does not count."""
    code = "import mmap, time; m = mmap.mmap(-1, 400_000_000); time.sleep(0.3); print('done')"

    outcome = run(tmp_path, [PYTHON, "-c", code], memory_bytes=200_000_000, cpu_s=20.0)

    assert isinstance(outcome, Succeeded)


def test_the_cpu_limit_ends_a_command_that_spins(tmp_path: Path) -> None:
    """Measured over the tree, or by the kernel for one process, whichever is first."""
    outcome = run(tmp_path, [PYTHON, "-c", "while True: pass"], cpu_s=1.0)

    assert isinstance(outcome, Failed)
    assert outcome.cpu_limit_hit
    assert not outcome.memory_limit_hit


def test_the_cpu_limit_holds_for_the_whole_tree(tmp_path: Path) -> None:
    """Two processes that are each below it are over it together."""
    spin = f"{IN_A_LINE} -c 'while True: pass'"

    outcome = run(tmp_path, f"{spin} & {spin} & {spin} & wait", cpu_s=1.5)

    assert isinstance(outcome, Failed)
    assert outcome.cpu_limit_hit
    assert outcome.signal == signal.SIGTERM


def test_what_a_command_left_in_its_group_is_ended(tmp_path: Path) -> None:
    """The attempt is over when its main process is."""
    pids = tmp_path / "pids"

    outcome = run(tmp_path, f"sleep 100 & echo $! > {pids}")

    assert isinstance(outcome, Succeeded)
    assert not _runs(pids_in(pids)[0])


def test_a_status_taken_by_somebody_else_is_a_failure_not_success(tmp_path: Path) -> None:
    """Popen would call it exit 0."""
    running = start(launch(tmp_path, "exit 1"))
    _wait_readable(running)
    os.waitpid(running.tree.identity.pid, 0)

    assert isinstance(finish(running), Failed)


def test_the_descriptor_falls_silent_while_only_the_tree_is_left(tmp_path: Path) -> None:
    """Or the engine would spin until the grace is over."""
    pids = tmp_path / "pids"
    child = "import os, signal, time; signal.signal(15, signal.SIG_IGN); print(os.getpid(), file=open('pids', 'a'), flush=True); time.sleep(100)"  # noqa: E501
    (tmp_path / "child.py").write_text(child)
    running = start(launch(tmp_path, f"setsid {IN_A_LINE} child.py & wait"), ShellRunner(Trees(1.0)))
    wait_until(lambda: pids_in(pids), running)
    running.cancel(time.monotonic())
    _wait_readable(running)

    assert running.poll(time.monotonic()) is None
    assert select.select([running], [], [], 0)[0] == []
    assert isinstance(finish(running), Cancelled)
    assert not _runs(pids_in(pids)[0])


def test_no_descriptor_is_left_after_two_hundred_attempts(tmp_path: Path) -> None:
    """Failed spawns included."""
    runner = ShellRunner(Trees(1))
    gc.collect()  # what earlier tests left to the collector is not counted
    before = len(os.listdir("/proc/self/fd"))

    for number in range(200):
        command = ["true"] if number % 4 else ["no-such-command-here"]
        try:
            finish(start(launch(tmp_path, command, number=number), runner))
        except SpawnFailed:
            assert number % 4 == 0

    runner.close()
    assert len(os.listdir("/proc/self/fd")) <= before


def test_it_is_a_runner_and_a_running(tmp_path: Path) -> None:
    """As the protocol has them."""
    runner: Runner = ShellRunner(Trees(1))
    running: Running = runner.start(launch(tmp_path, ["true"]), time.monotonic())

    assert isinstance(running, ShellRunning)
    assert isinstance(finish(running), Succeeded)


def _wait_readable(running: ShellRunning) -> None:
    assert select.select([running], [], [], 20)[0], "the main process did not end"


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False

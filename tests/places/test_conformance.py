"""What every place promises of an attempt, shown here and at a real Temporal cluster by the same tests."""

from __future__ import annotations

import itertools
import math
import os
import select
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from medbay import app, wiring
from medbay.config.fields import DEFAULTS
from medbay.config.load import load
from medbay.core.outcome import (
    HEAD_BYTES,
    TAIL_BYTES,
    Cancelled,
    Failed,
    Outcome,
    Requeued,
    Stalled,
    Succeeded,
    TimedOut,
    redacted,
)
from medbay.errors import SpawnFailed
from medbay.places.protocol import Launch, Running
from medbay.places.temporal import TemporalPlace
from tests.places.cluster import NEEDS_A_SERVER, Fleet, Server, runs
from tests.runners.driving import PYTHON, launch
from tests.waiting import wait_for

SECRET = "correct-horse-battery-staple-7714"
MACHINE = {"DEPLOY_TOKEN": SECRET, "REGION": "eu-north-1"}  # of the machine that runs attempts
KEPT = '[runner]\nsecrets = ["DEPLOY_*"]\n'  # from commands that do not ask for them
LIMIT_S = 60.0
_tasks = itertools.count(1)


class Starts(Protocol):
    """A place, as far as all of them are alike."""

    def start(self, launch: Launch, monotonic_s: float) -> Running:
        """Start it."""
        ...


class Ground:
    """One place with a directory for what runs there; an outcome is read as an engine records it."""

    def __init__(self, place: Starts, name: str, folder: Path) -> None:
        self.place = place
        self.name = name
        self.folder = folder
        self._redaction = app.redaction_of(DEFAULTS, MACHINE)

    def start(self, command: str | list[str], **changes: Any) -> Running:
        """Start it; a task of its own."""
        return self.place.start(self.launch(command, **changes), time.monotonic())

    def launch(self, command: str | list[str], **changes: Any) -> Launch:
        """An attempt of a new task."""
        task = f"t{next(_tasks)}"
        files = {"log_path": f"{self.folder}/logs/{task}.log", "result_path": f"{self.folder}/logs/{task}.json"}
        return launch(self.folder, command, **{"task_id": task, "place": self.name, **files, **changes})

    def finish(self, running: Running) -> Outcome:
        """Poll it to its end."""
        until = time.monotonic() + LIMIT_S
        while (outcome := running.poll(time.monotonic())) is None:
            assert time.monotonic() < until, "did not end in time"
            waiting = select.poll()
            if running.fileno() >= 0:
                waiting.register(running.fileno(), select.POLLIN)
            due = running.deadline_s()
            waiting.poll(max(0.0, min(1.0, 1.0 if due is None else due - time.monotonic())) * 1000)
        return redacted(outcome, self._redaction)

    def run(self, command: str | list[str], **changes: Any) -> Outcome:
        """How it ended; what cannot be started at all has ended too."""
        try:
            return self.finish(self.start(command, **changes))
        except SpawnFailed as error:
            return Failed(spawn_error=str(error))

    def written(self, name: str, lines: int = 1) -> list[str]:
        """What a command wrote into a file, once all of it is there."""
        path = self.folder / name
        wait_for(lambda: path.exists() and len(path.read_text("utf-8").split()) >= lines)
        return path.read_text("utf-8").split()


@pytest.fixture(scope="module", params=["here", "elsewhere"])
def places(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Starts]]:
    """This machine, then a cluster with one worker."""
    with pytest.MonkeyPatch.context() as environ:
        for name, value in MACHINE.items():
            environ.setenv(name, value)
        if request.param == "here":
            settings = tmp_path_factory.mktemp("here") / "medbay.toml"
            settings.write_text(f'[engine]\ngrace = "1s"\n{KEPT}', encoding="utf-8")
            here = wiring.build_here(load(settings, os.environ, {}), workers=4, guard="", passes=None)
            yield "", here
            here.close()
            return
        server: Server = request.getfixturevalue("server")
        home = tmp_path_factory.mktemp("worker")
        fleet = Fleet(home, server, home / "state")
        with open(home / "medbay.toml", "a", encoding="utf-8") as file:
            file.write(KEPT)
        try:
            fleet.worker()
            place = TemporalPlace(fleet.cluster(server), store_id="conformance")
            yield "cluster", place
            place.close()
        finally:
            fleet.close()


@pytest.fixture
def ground(places: tuple[str, Starts], tmp_path: Path) -> Ground:
    """The place with a directory of the test's own."""
    name, place = places
    return Ground(place, name, tmp_path)


pytestmark = NEEDS_A_SERVER


@pytest.mark.parametrize(
    ("command", "kind", "code", "number"),
    [
        ("exit 0", Succeeded, 0, None),
        ("exit 3", Failed, 3, None),
        ("exit 255", Failed, 255, None),
        ("kill -SEGV $$", Failed, None, signal.SIGSEGV),
        ("kill -9 $$", Failed, None, signal.SIGKILL),
        ("exit 75", Requeued, 75, None),
    ],
)
def test_exit_codes_and_signals_come_back_as_they_are(
    ground: Ground, command: str, kind: type[Outcome], code: int | None, number: int | None
) -> None:
    """Nothing is rounded to failed."""
    outcome = ground.run(f"ulimit -c 0; {command}")

    assert isinstance(outcome, kind)
    assert (getattr(outcome, "exit_code", None), getattr(outcome, "signal", None)) == (code, number)


def test_a_short_output_comes_back_whole_with_every_character_readable(ground: Ground) -> None:
    """Bytes that are no text are replaced, NUL too; what is text stays."""
    outcome = ground.run(r"printf 'Grüße \360\237\246\212 a\000b\377c\n'; echo to stderr >&2")

    assert outcome.output.tail == "Grüße 🦊 a\ufffdb\ufffdc\nto stderr\n"
    assert (outcome.output.head, outcome.output.total_bytes) == ("", 29)


def test_of_a_huge_output_the_ends_come_back_and_its_size(ground: Ground) -> None:
    """20 MB: 4 KB of the beginning, 32 KB of the end, the lines before them where they can be counted."""
    outcome = ground.run("echo begin; yes 'line of output' | head -c 20000000; echo; echo the end")

    assert isinstance(outcome, Succeeded)
    output = outcome.output
    assert output.head.startswith("begin\nline of output\n") and output.tail.endswith("\nthe end\n")
    assert (len(output.head), len(output.tail)) == (HEAD_BYTES, TAIL_BYTES)
    assert output.total_bytes > 20_000_000


def test_output_that_is_no_text_at_all_comes_back_bounded(ground: Ground) -> None:
    """Each of its bytes is replaced; its size is that of the log."""
    outcome = ground.run("head -c 100000 /dev/zero | tr '\\0' '\\377'")

    assert outcome.output.total_bytes == 100_000
    assert set(outcome.output.tail) == {"\ufffd"}


def test_what_a_command_says_of_itself_comes_back(ground: Ground) -> None:
    """The result file: outcome, summary, data, whatever its exit code was."""
    said = '{"outcome": "failed", "summary": "two of nine rows", "data": {"rows": [1, 2]}}'
    outcome = ground.run(f"echo '{said}' > $MEDBAY_RESULT")

    assert isinstance(outcome, Failed) and outcome.exit_code == 0
    assert outcome.output.result is not None
    assert outcome.output.result["summary"] == "two of nine rows"


def test_halves_of_characters_in_a_result_do_no_harm(ground: Ground) -> None:
    """JSON can write down what no text can hold."""
    outcome = ground.run("""echo '{"outcome": "ok", "summary": "half \\\\ud83e of it"}' > $MEDBAY_RESULT""")

    assert isinstance(outcome, Succeeded)


def test_when_to_try_again_comes_back(ground: Ground) -> None:
    """Exit 75 with a time."""
    outcome = ground.run("""echo '{"retry_after": "90s", "summary": "quota"}' > $MEDBAY_RESULT; exit 75""")

    assert isinstance(outcome, Requeued) and outcome.asked
    assert (outcome.retry_after, outcome.why) == ("90s", "quota")


def test_a_result_that_cannot_be_read_is_no_success(ground: Ground) -> None:
    """And says what was wrong with it."""
    outcome = ground.run("echo '{nonsense' > $MEDBAY_RESULT")

    assert isinstance(outcome, Failed)
    assert "result file ignored" in outcome.output.tail


def test_the_time_limit_ends_the_whole_tree(ground: Ground) -> None:
    """Children in sessions of their own, with an environment of their own, too."""
    outcome = ground.run("echo $$ >> pids; setsid sh -c 'echo $$ >> pids; sleep 300' & sleep 300", timeout_s=1.0)

    assert isinstance(outcome, TimedOut) and outcome.limit_s == 1.0
    assert not any(runs(pid) for pid in ground.written("pids", 2))
    assert "time limit of 1.0 s" in outcome.output.tail


def test_the_memory_limit_ends_it(ground: Ground) -> None:
    """And is named as the cause."""
    outcome = ground.run(
        [PYTHON, "-c", "import time; kept = bytearray(200_000_000); time.sleep(60)"], memory_bytes=80_000_000
    )

    assert isinstance(outcome, Failed) and outcome.memory_limit_hit


def test_the_cpu_limit_ends_it(ground: Ground) -> None:
    """One that spins."""
    outcome = ground.run("while :; do :; done", cpu_s=1.0)

    assert isinstance(outcome, Failed) and outcome.cpu_limit_hit


def test_one_without_progress_is_ended(ground: Ground) -> None:
    """Silent for longer than it may be."""
    outcome = ground.run("echo once; sleep 300", stall_s=1.0)

    assert isinstance(outcome, Stalled) and outcome.silent_s == 1.0
    assert "once" in outcome.output.tail


def test_a_cancel_ends_the_tree_before_the_outcome_is_known(ground: Ground) -> None:
    """Also of one that ignores SIGTERM."""
    running = ground.start("trap '' TERM; echo $$ >> pids; sh -c 'echo $$ >> pids; sleep 300' & wait; sleep 300")
    pids = ground.written("pids", 2)

    running.cancel(time.monotonic())
    outcome = ground.finish(running)

    assert isinstance(outcome, Cancelled)
    assert not any(runs(pid) for pid in pids)


def test_what_a_command_leaves_behind_is_ended_with_it(ground: Ground) -> None:
    """A success that left a process in the background."""
    outcome = ground.run("sleep 300 & echo $! > pid; exit 0")

    assert isinstance(outcome, Succeeded)
    (pid,) = ground.written("pid")
    wait_for(lambda: not runs(pid))


def test_the_environment_says_who_it_is_and_has_what_it_was_given(ground: Ground) -> None:
    """Task, attempt, keys, guidance and input; variables by value, by name and from a file."""
    (ground.folder / "vars").write_text("export FROM_FILE='a b'\n# a comment\n", encoding="utf-8")
    names = "MEDBAY_TASK MEDBAY_ATTEMPT MEDBAY_KEY MEDBAY_GUIDANCE GIVEN FROM_FILE REGION"
    asked = ground.launch(
        f"for each in {names}; do eval echo $each=\\$$each; done; cat $MEDBAY_INPUT; echo $MEDBAY_ATTEMPT_KEY",
        number=1,
        guidance="take smaller steps",
        env={"GIVEN": "by value"},
        env_file="vars",
        env_from=("REGION",),
        input_text='{"before": 42}',
    )

    outcome = ground.finish(ground.place.start(asked, time.monotonic()))

    lines = outcome.output.tail.splitlines()
    assert lines[:7] == [
        f"MEDBAY_TASK={asked.task_id}",
        "MEDBAY_ATTEMPT=1",
        "MEDBAY_KEY=k7f2:0",
        "MEDBAY_GUIDANCE=take smaller steps",
        "GIVEN=by value",
        "FROM_FILE=a b",
        "REGION=eu-north-1",
    ]
    assert lines[7] == f'{{"before": 42}}{asked.store_id}:{asked.task_id}:1'


def test_secrets_of_the_machine_are_given_by_name_alone_and_taken_out_of_the_output(ground: Ground) -> None:
    """Without being asked for it is not even there."""
    plain = ground.run("echo [$DEPLOY_TOKEN]")
    named = ground.run("echo [$DEPLOY_TOKEN]; test ${#DEPLOY_TOKEN} -eq 33", env_from=("DEPLOY_TOKEN",))

    assert plain.output.tail == "[]\n"
    assert isinstance(named, Succeeded), named
    assert SECRET not in named.output.tail and "[" in named.output.tail


def test_a_variable_that_is_not_there_is_named(ground: Ground) -> None:
    """Nothing is started."""
    outcome = ground.run("touch started", env_from=("NO_SUCH_VARIABLE",))

    assert isinstance(outcome, Failed) and "NO_SUCH_VARIABLE is not set" in outcome.spawn_error
    assert not (ground.folder / "started").exists()


@pytest.mark.parametrize(
    ("command", "changes", "words"),
    [
        (["no-such-program-7714"], {}, "no-such-program-7714"),
        (["/etc/hostname"], {}, "/etc/hostname"),
        ("true", {"cwd": Path("/no/such/directory")}, "/no/such/directory"),
        ("true", {"cwd": Path("/etc/hostname")}, "/etc/hostname"),
    ],
)
def test_what_cannot_be_started_says_why(
    ground: Ground, command: str | list[str], changes: dict[str, Any], words: str
) -> None:
    """A missing program, one that is none, a missing directory, one that is none."""
    outcome = ground.run(command, **changes)

    assert isinstance(outcome, Failed)
    assert words in outcome.spawn_error


def test_a_list_is_executed_as_it_is_and_a_line_by_the_shell_that_was_asked_for(ground: Ground) -> None:
    """No metacharacter of a list is interpreted."""
    listed = ground.run(["echo", "$HOME;", "touch", "owned"])
    line = ground.run("shopt -q globstar || echo bash", shell="bash")

    assert listed.output.tail == "$HOME; touch owned\n" and not (ground.folder / "owned").exists()
    assert line.output.tail == "bash\n"


def test_it_has_nothing_to_read_and_no_terminal(ground: Ground) -> None:
    """A command that asks gets an end of file, not a place to hang."""
    outcome = ground.run("read line; echo $?; test -t 0 || echo no terminal", timeout_s=20)

    assert outcome.output.tail == "1\nno terminal\n"


def test_ten_at_once_run_side_by_side_and_none_is_mixed_up(ground: Ground) -> None:
    """More than a worker has slots: the rest waits for its turn."""
    started = [ground.start(f"echo number {each}; exit {each}") for each in range(10)]

    ended = [ground.finish(each) for each in started]

    assert [each.output.tail for each in ended] == [f"number {each}\n" for each in range(10)]
    assert [getattr(each, "exit_code", None) for each in ended] == list(range(10))


def test_python_functions_run_there_too(ground: Ground) -> None:
    """By the runner of functions: the value comes back, and the traceback of one that raises."""
    value = ground.run(["math:factorial", "[20]"], runner="python")
    large = ground.run(["math:factorial", "[60]"], runner="python")
    raised = ground.run(["math:factorial", "[-1]"], runner="python")

    assert isinstance(value, Succeeded), value
    assert (value.output.result or {}).get("value") == 2432902008176640000
    assert (large.output.result or {}).get("value") == math.factorial(60)
    assert isinstance(raised, Failed) and "ValueError" in raised.output.tail

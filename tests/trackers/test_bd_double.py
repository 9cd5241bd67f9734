"""The double of `bd` answers every recorded call of the real one as it did, ids and times masked."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

GOLDEN = Path(__file__).with_name("bd_golden.txt")
DOUBLE = Path(__file__).with_name("bd_double.py")
HEAD = re.compile(r"^\$ (?P<env>(?:[A-Z_]+=\S+ )*) ?bd (?P<words>.*?)(?:   \(cwd (?P<cwd>[^)\n]*)\)?)?$")
ID = re.compile(r"\b(demo|ng)-[a-z0-9]{3,8}(\.\d+)?\b")
TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
TIMINGS = re.compile(r'"(query_ms|total_ms)": \d+')
WORDS_OF_A_NAME = ("create", "note", "comment")  # whose words are one text


@dataclass(frozen=True, slots=True)
class Recorded:
    """One recorded call: what was typed, and what came back."""

    env: dict[str, str]
    words: list[str]
    code: int
    stdout: str
    stderr: str
    folder: str  # it was called in: app, nogit, or nothing that has a workspace


def recorded() -> Iterator[Recorded]:
    """Every call of the recording, in order."""
    for block in re.split(r"\n(?=\$ )", GOLDEN.read_text(encoding="utf-8")):
        head, _, rest = block.partition("\n")
        found = HEAD.match(head)
        code = re.match(r"rc=(\d+)", rest)
        assert found is not None and code is not None, head
        _, _, answer = rest.partition("--- stdout\n")
        stdout, _, stderr = answer.partition("--- stderr\n")
        env = dict(each.split("=", 1) for each in found["env"].split())
        cwd = found["cwd"] or "/home/dev/app"
        folder = cwd.rpartition("/")[2] if found["cwd"] is None or head.endswith(")") else ""
        yield Recorded(env, words_of(found["words"]), int(code[1]), stdout, stderr, folder)


def words_of(text: str) -> list[str]:
    """The arguments of a recorded call, whose quotes were not recorded: words up to the next option are one."""
    if text == "create  --json":
        return ["create", "", "--json"]
    words: list[str] = []
    texts = False
    for word in text.split():
        if texts and not word.startswith("-"):
            words[-1] += f" {word}"
            continue
        words.append(word)
        # The value of an option, and the title behind create, may have spaces; so may what follows an id.
        options = [each for each in words[:-1] if each.startswith("-")]
        last = words[-2] if len(words) > 1 else ""
        texts = (last in ("-d", "--reason", "--notes", "--append-notes")) or (
            not word.startswith("-") and not options and last in WORDS_OF_A_NAME[:1]
        )
        if words[0] in WORDS_OF_A_NAME[1:] and len(words) == 3 and not options:
            texts = True
    return words


def masked(text: str, home: str = "/home/dev/app") -> str:
    """What does not differ from run to run."""
    text = text.replace(home, "/home/dev/app").replace("/home/dev/app/.beads/embeddeddolt", "/home/dev/app/.beads/db")
    text = re.sub(r"(?s)^(Error: unknown flag: \S+\n).*", r"\1", text)
    text = re.sub(r"(?s)\n\nDid you mean this\?.*?\n\n", "\n\n", text)
    text = TIMINGS.sub(r'"\1": 0', UUID.sub("UUID", TIME.sub("TIME", text)))
    return text.rstrip("\n")


def test_the_double_answers_as_the_real_one(tmp_path: Path) -> None:
    """Each of the recorded calls, one after the other, on one workspace."""
    home = tmp_path / "app"
    for folder in ("app", "nogit"):
        (tmp_path / folder).mkdir()
    start([*COMMAND, "init", "--prefix", "demo", "--non-interactive", "--skip-agents", "--skip-hooks"], home, {})
    names: dict[str, str] = {}
    wrong = []
    calls = sorted(recorded(), key=lambda call: "ng" not in call.words)  # a workspace is made before it is used

    for call in calls:
        env = {name: value.replace("/home/dev/app", str(home)) for name, value in call.env.items()}
        words = [renamed(word, names).replace("/home/dev/app", str(home)) for word in call.words]
        done = start([*COMMAND, *words], tmp_path / call.folder, env)
        if call.words[0] == "create" and call.code == 0:
            learn(names, call.stdout, done.stdout)
        seen = (done.returncode, masked(done.stdout, str(home)), masked(done.stderr, str(home)))
        told = (call.code, masked(renamed(call.stdout, names)), masked(renamed(call.stderr, names)))
        if seen != told:
            wrong.append(f"bd {shlex.join(call.words)}\n--- recorded {told}\n--- double   {seen}")

    assert len(calls) >= 93
    assert not wrong, f"{len(wrong)} of {len(calls)} differ\n" + "\n\n".join(wrong)


COMMAND = [shutil.which("bd") or sys.executable, *([] if shutil.which("bd") else [str(DOUBLE)])]


def start(words: list[str], cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """One call."""
    kept = {"PATH": os.environ["PATH"], "HOME": str(cwd), "BEADS_ACTOR": "tester", **env}
    return subprocess.run(
        words, cwd=cwd, env=kept, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )


def learn(names: dict[str, str], told: str, seen: str) -> None:
    """Which id of the recording is which one here."""
    one, other = ID.search(told), ID.search(seen)
    if one is not None and other is not None:
        names[one[0]] = other[0]


def renamed(text: str, names: dict[str, str]) -> str:
    """A text of the recording with the ids of this run."""
    return ID.sub(lambda found: names.get(found[0], found[0]), text)


@pytest.mark.parametrize("words", [["list", "--nosuch"], ["update", "x", "--note", "y"], ["show", "x", "--all"]])
def test_an_option_that_the_contract_lacks_is_refused(tmp_path: Path, words: list[str]) -> None:
    """A test cannot pass by an option that the real one would refuse."""
    start([*COMMAND, "init", "--prefix", "demo", "--non-interactive"], tmp_path, {})

    done = start([*COMMAND, *words], tmp_path, {})

    assert (done.returncode, done.stdout) == (1, "")
    assert "unknown flag" in done.stderr

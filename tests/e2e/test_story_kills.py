"""Real daemons on real stories, killed or two at once: every story ends completed, and nothing ran twice at once."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import COMMAND
from tests.engine.story_world import WALK
from tests.waiting import wait_for

KILLS = 20
LIMIT_S = 540.0
SEED = 20
ROLES = ("pm", "qa", "dev", "gate", "review-lint", "review-syntax")
# The lock is the kernel's: it goes with the process, however that ends.
ROLE = """#!/bin/sh
exec 9>"lock-$MEDBAY_STORY-ROLE"
echo "$MEDBAY_STORY $PPID" >> walked.txt
flock -n 9 || echo "$MEDBAY_STORY $MEDBAY_PHASE ROLE" >> overlaps.txt
sleep 0.2
echo done > "app-$MEDBAY_STORY.txt"
verdict=PASS
if test ROLE = review-lint && ! test -e "seen-$MEDBAY_STORY"; then verdict=FAIL; fi
if test "$MEDBAY_PHASE" = fix; then touch "seen-$MEDBAY_STORY"; fi
shown=""
if test ROLE = dev; then
  echo mine > "$MEDBAY_STORY_DIR/_implementation/NOTES.txt"
  shown=', "evidence": [{"criterion": 1, "shows": "it prints", "path": "app-'$MEDBAY_STORY'.txt"}]'
fi
printf '{"verdict": "%s", "summary": "as it is"%s}' "$verdict" "$shown" > "$MEDBAY_RESULT"
"""


class Project:
    """A project with a store, and daemons that are killed."""

    def __init__(self, folder: Path, store: str) -> None:
        self.folder = folder
        self._env = {**os.environ, "MEDBAY_TRUST": "1", "MEDBAY_WEB_ENABLED": "false"}
        if store:
            self._env["MEDBAY_STORE"] = store
        folder.mkdir()
        lines = ["[story]", 'fast_track = "never"']
        for role in ROLES:
            script = folder / f"{role}.sh"
            script.write_text(ROLE.replace("ROLE", role), encoding="utf-8")
            script.chmod(0o755)
            lines += [f"[roles.{role}]", f'command = ["./{role}.sh"]']
        self("init")
        (folder / "medbay.toml").write_text("\n".join([*lines, ""]), encoding="utf-8")
        self._made = 0

    def __call__(self, *words: str) -> str:
        """Call the command; it has to succeed."""
        ran = subprocess.run(
            [COMMAND, *words], cwd=self.folder, env=self._env, capture_output=True, text=True, timeout=120
        )
        assert ran.returncode == 0, (words, ran.stdout, ran.stderr)
        return ran.stdout

    def add(self, *depends_on: str) -> None:
        """One more story for the daemon."""
        self._made += 1
        words = [word for each in depends_on for word in ("--depends-on", each)]
        self("story", "new", f"S-{self._made}", "--title", "Print it", "--criterion", "it prints", *words)
        self("story", "run", f"S-{self._made}", "--detach")

    def stories(self) -> list[dict[str, Any]]:
        """They as they are now."""
        found: list[dict[str, Any]] = json.loads(self("story", "list", "--json"))
        return found

    def show(self, story_id: str) -> dict[str, Any]:
        """One of them with its phases."""
        found: dict[str, Any] = json.loads(self("story", "show", story_id, "--json"))
        return found

    def daemon(self, slots: int = 4) -> subprocess.Popen[bytes]:
        """A daemon that is left to itself."""
        return subprocess.Popen(
            [COMMAND, "up", "--no-web", "--workers", str(slots)],
            cwd=self.folder,
            env=self._env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def store_of(kind: str, request: pytest.FixtureRequest) -> str:
    """Where the store is; nothing: in the project."""
    return "" if kind == "sqlite" else request.getfixturevalue("postgres").url(request.getfixturevalue("own_database"))


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_twenty_kills_lose_nothing(tmp_path: Path, kind: str, request: pytest.FixtureRequest) -> None:
    """At random moments; the folders equal the store, every phase of the walk ended once, no artifact is lost."""
    project, moments = Project(tmp_path / "project", store_of(kind, request)), random.Random(SEED)
    deadline = time.monotonic() + LIMIT_S
    for _ in range(KILLS):
        while sum(each["status"] != "completed" for each in project.stories()) < 2:
            project.add()
        daemon = project.daemon()
        time.sleep(moments.uniform(0.3, 5.0))
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()
    last = project.daemon()
    wait_for_all(project, deadline)
    wait_for(lambda: folders(project) == {"UAT"})
    last.terminate()
    last.wait(60)

    check(project)


def wait_for_all(project: Project, deadline: float) -> None:
    """Until every story is completed."""
    while any(each["status"] != "completed" for each in project.stories()):
        assert time.monotonic() < deadline, project.stories()
        time.sleep(1)


def folders(project: Project) -> set[str]:
    """The directories in which stories are; one in which a phase is locked is named with it."""
    found = list((project.folder / "stories").glob("*/S-*"))
    locked = {f"{each.name} is locked" for each in found if (each / "_implementation" / ".phase-lock").exists()}
    return {each.parent.name for each in found} | locked


def check(project: Project) -> None:
    """The folders equal the store, every phase of the walk ended once, and nothing ran twice at once or is lost."""
    assert not (project.folder / "overlaps.txt").exists()
    assert project("story", "sync").strip() == "every folder is where it should be"
    for each in project.stories():
        found = project.show(each["id"])
        assert [run["phase"] for run in found["phases"]] == list(WALK), each
        folder = project.folder / "stories" / "UAT" / each["id"] / "_implementation"
        names = {path.name for path in folder.iterdir()}
        wanted = "ELAB.yaml PROOF.md VERIFICATION.yaml EVIDENCE.yaml GATE.yaml TRACE.jsonl METRICS.yaml NOTES.txt"
        assert set(wanted.split()) <= names and ".phase-lock" not in names
    assert folders(project) == {"UAT"}


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_two_daemons_bring_ten_stories_to_their_end(tmp_path: Path, kind: str, request: pytest.FixtureRequest) -> None:
    """On one store, with two slots each; both work, and nothing is begun before what it depends on is completed."""
    project = Project(tmp_path / "project", store_of(kind, request))
    for at in range(1, 11):
        project.add(*(f"S-{other}" for other in range(max(1, at - 3), at) if (at + other) % 2))

    daemons = [project.daemon(2), project.daemon(2)]
    try:
        wait_for_all(project, time.monotonic() + LIMIT_S)
        wait_for(lambda: folders(project) == {"UAT"})
    finally:
        for each in daemons:
            each.terminate()
        codes = [each.wait(60) for each in daemons]

    assert codes == [0, 0]
    check(project)
    found = {each["id"]: project.show(each["id"]) for each in project.stories()}
    for story_id, shown in found.items():
        begun = next(run["started_at"] for run in shown["phases"] if run["phase"] == "implement")
        assert all(found[other]["ended_at"] <= begun for other in shown["depends_on"]), story_id
    workers = {line.split()[1] for line in (project.folder / "walked.txt").read_text(encoding="utf-8").splitlines()}
    assert workers == {str(each.pid) for each in daemons}

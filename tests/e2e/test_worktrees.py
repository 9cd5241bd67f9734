"""Agents on git repositories, through the command line: worktrees, evidence, what becomes of the work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_the_path_of_a_task import QUICK, Terminal

IDENTITY = {
    f"GIT_{who}_{what}": said
    for who in ("AUTHOR", "COMMITTER")
    for what, said in (("NAME", "A Person"), ("EMAIL", "person@example.org"))
}


class Project(Terminal):
    """A repository with one file, and an agent that is a shell script."""

    def __init__(self, home: Path, state: Path) -> None:
        super().__init__(home)
        home.mkdir(parents=True, exist_ok=True)
        self.environ |= {"XDG_STATE_HOME": str(state), "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(state), **IDENTITY}
        self.state = state
        state.mkdir(exist_ok=True)
        self.git("init", "--quiet", "--initial-branch", "main")
        self.write("list.txt", "one\ntwo\nthree\n")
        self.commit("The beginning")
        self.must("init")
        self.git("add", "-A")
        self.git("commit", "--quiet", "-m", "A store here")

    def git(self, *words: str, cwd: Path | None = None) -> str:
        """What git says here."""
        command = ["git", "-c", "protocol.file.allow=always", *words]
        done = subprocess.run(command, cwd=cwd or self.home, env=self.environ, capture_output=True, text=True)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    def write(self, name: str, text: str) -> Path:
        """A file of the project."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def commit(self, message: str) -> str:
        """Everything, committed; the commit."""
        self.git("add", "-A")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD").strip()

    def agent(self, script: str, **settings: Any) -> None:
        """Configure the agent: what it does in its directory, and how that is prepared."""
        path = self.state / "agent.sh"
        path.write_text(f"#!/bin/sh\nPROMPT=$1\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in settings.items())
        text = f'{QUICK}\n[agents.fake]\ncommand = ["{path}", "{{prompt_file}}"]\n{lines}\n'
        self.write("medbay.toml", text)
        self.commit("Configure")

    def add(self, *words: str) -> str:
        """Add a task for the agent; its id."""
        return self.must("add", *words, "--agent", "fake").strip()

    def worktree(self, name: str) -> Path:
        """Where a task works."""
        (found,) = (self.state / "medbay" / "worktrees").glob(f"*/{name}")
        return found

    def is_clean(self) -> bool:
        """Whether the main tree is as its commit says, and the repository is sound."""
        self.git("fsck", "--strict", "--no-dangling")
        return not self.git("status", "--porcelain")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A repository with a store and nothing to do."""
    return Project(tmp_path / "project", tmp_path / "state")


def test_an_agent_works_in_a_worktree_and_its_branch_is_kept(project: Project) -> None:
    """The main tree does not change; the branch and a ref of the attempt hold the work, the checks ran there."""
    project.agent("echo four >> list.txt; echo new > new.txt")

    task = project.add("Add four", "--check", "grep -q four list.txt && test -f new.txt")
    project.must("up", "--until-idle")

    done = project.show(task)
    assert done["status"] == "completed", done
    assert project.is_clean() and "four" not in (project.home / "list.txt").read_text(encoding="utf-8")
    assert project.git("show", f"medbay/{task}:new.txt") == "new\n"
    assert project.git("rev-parse", f"medbay/{task}") == project.git("rev-parse", f"refs/medbay/{task}/1")
    assert os.path.isfile(project.worktree(task) / ".git")


def test_done_with_nothing_to_show_is_no_success(project: Project) -> None:
    """No change, no artifact, no check that failed before: it is asked for evidence and gives it."""
    project.agent('if [ "$MEDBAY_ATTEMPT" = 1 ]; then echo "All done!"; else echo x > x.txt; fi')

    task = project.add("Do it", "--check", "test -f list.txt")
    project.must("up", "--until-idle")

    done = project.show(task)
    assert done["status"] == "completed"
    first, second = done["attempts"]
    assert (first["outcome"], first["diagnosis"]["subcategory"]) == ("failed", "no_evidence")
    assert "nothing shows it" in first["diagnosis"]["summary"] and second["outcome"] == "succeeded"


@pytest.mark.parametrize(
    ("script", "check"),
    [
        ("echo 'There is nothing to change, because two is there already.'", "grep -q two list.txt"),
        ('echo done > "$STATE/marker"', 'test -f "$STATE/marker"'),
    ],
)
def test_a_check_confirms_what_no_change_shows(project: Project, script: str, check: str) -> None:
    """A reason why nothing has to change, or a check that failed before and passes now."""
    project.agent(script)

    task = project.add("Look", "--check", check, "--env", f"STATE={project.state}")
    project.must("up", "--until-idle")

    assert [each["outcome"] for each in project.show(task)["attempts"]] == ["succeeded"]


MERGING = """
case $(head -1 "$PROMPT") in
*left*) sed -i 's/two/TWO/' list.txt ;;
*right*) echo five > five.txt ;;
*third*) if grep -q '^<<<<<<<' list.txt; then echo tried >> "$STATE/tried"; {resolve}
         else until [ -f "$STATE/go" ]; do sleep 0.05; done; sed -i 's/two/zwei/' list.txt; fi ;;
esac
"""


def three_at_once(project: Project, resolve: str, *, code: int) -> dict[str, Any]:
    """Three agents on one repository; the third ends when the others are merged. How each stands, by its title."""
    project.agent(MERGING.replace("{resolve}", resolve), on_pass="merge")
    titles = {
        word: project.add(f"The {word} one", "--env", f"STATE={project.state}") for word in ("left", "right", "third")
    }
    release = subprocess.Popen(
        [
            "sh",
            "-c",
            'until [ $(git log --merges --oneline | wc -l) = 2 ]; do sleep 0.05; done; touch "$0"',
            str(project.state / "go"),
        ],
        cwd=project.home,
        env=project.environ,
    )
    try:
        project.must("up", "--until-idle", "--workers", "3", code=code)
    finally:
        release.kill()
        release.wait()
    return {word: project.show(task) for word, task in titles.items()}


def test_three_agents_on_one_repository_are_merged_and_the_conflict_is_resolved_by_its_agent(project: Project) -> None:
    """Two merge at once; the third gets the others' work with its conflict marks, resolves them and is merged."""
    resolve = """printf 'one\\nTWO zwei\\nthree\\n' > list.txt"""

    found = three_at_once(project, resolve, code=0)

    assert {each["status"] for each in found.values()} == {"completed"}
    first, second = found["third"]["attempts"]
    assert (first["diagnosis"]["subcategory"], first["charged"], second["outcome"]) == (
        "merge_conflict",
        False,
        "succeeded",
    )
    assert project.is_clean()
    assert (project.home / "list.txt").read_text(encoding="utf-8") == "one\nTWO zwei\nthree\n"
    assert (project.home / "five.txt").exists()
    assert len(project.git("log", "--merges", "--first-parent", "--oneline", "main").splitlines()) == 3


def test_a_conflict_that_its_agent_does_not_resolve_is_shown_to_a_person(project: Project) -> None:
    """Brought together once, then a question with the conflict in it; nothing of it is in the main branch."""
    found = three_at_once(project, "true", code=75)

    third = found["third"]
    assert (third["status"], third["block_kind"], third["attempts_total"]) == ("blocked", "human", 2)
    assert (project.state / "tried").read_text(encoding="utf-8") == "tried\n"
    assert "conflict" in third["question"]["why"]
    assert project.is_clean()
    assert (project.home / "list.txt").read_text(encoding="utf-8") == "one\nTWO\nthree\n"
    assert "zwei" in project.git("show", f"refs/medbay/{third['id']}/1:list.txt")


def test_a_sandboxed_agent_writes_its_worktree_alone_and_reaches_the_hosts_it_names(
    project: Project, tmp_path: Path
) -> None:
    """Not the repository, not the home, not another host; its result file and its temporary files it may."""
    with HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        project.agent(
            f"""
            echo mine > mine.txt; echo x > /tmp/x && echo '{{"summary": "wrote"}}' > "$MEDBAY_RESULT"
            for each in "{project.home}/a" "{project.home}/.git/a" "$HOME/a" "{tmp_path}/a"; do touch "$each"; done
            {sys.executable} -c "
import urllib.request as u, urllib.error
print(u.urlopen('http://127.0.0.1:{port}/').status)
try: u.urlopen('http://127.0.0.2:{port}/'); print('reached')
except urllib.error.HTTPError as e: print(e.code)
import socket
try: socket.create_connection(('127.0.0.1', {port}), 2); print('direct')
except OSError: print('no way')
" > network.txt
            """,
            sandbox="bwrap",
            hosts=[f"127.0.0.1:{port}"],
        )

        task = project.add("Write", "--check", "test -f mine.txt")
        project.must("up", "--until-idle")
        server.shutdown()

    assert project.show(task)["status"] == "completed"
    outside = (project.home, project.home / ".git", project.state, tmp_path)
    assert not any((each / "a").exists() for each in outside) and not Path("/tmp/x").exists()
    assert project.git("show", f"medbay/{task}:network.txt").split("\n") == ["200", "403", "no way", ""]

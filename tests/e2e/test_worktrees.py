"""Agents on git repositories, through the command line: worktrees, evidence, what becomes of the work."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_the_path_of_a_task import EITHER_STORE, QUICK, Terminal, store_of

IDENTITY = {
    f"GIT_{who}_{what}": said
    for who in ("AUTHOR", "COMMITTER")
    for what, said in (("NAME", "A Person"), ("EMAIL", "person@example.org"))
}


class Project(Terminal):
    """A repository with one file, and an agent that is a shell script."""

    def __init__(self, home: Path, state: Path, *, store: str = "") -> None:
        super().__init__(home)
        self.environ |= {"MEDBAY_STORE": store} if store else {}
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


@pytest.fixture(params=EITHER_STORE)
def project(tmp_path: Path, request: pytest.FixtureRequest) -> Project:
    """A repository with a store and nothing to do."""
    return Project(tmp_path / "project", tmp_path / "state", store=store_of(request))


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


@pytest.mark.long
def test_what_aider_leaves_beside_its_work_is_no_work(project: Project) -> None:
    """Its history shows nothing that was done, and is in no commit; git overlooks it without a change of .gitignore."""
    program = project.state / "aider"
    said = "Tokens: 10 sent, 5 received. Cost: $0.00 message, $0.00 session."
    work = '[ "$MEDBAY_ATTEMPT" = 1 ] || echo four >> list.txt'
    program.write_text(f"#!/bin/sh\necho x > .aider.chat.history.md\n{work}\necho 'Done.'\necho '{said}'\n", "utf-8")
    program.chmod(0o755)
    project.write("medbay.toml", f'{QUICK}\n[agents.aider]\nprogram = "{program}"\nmodel = "m"\n')
    project.commit("Configure")

    task = project.must("add", "Add four", "--agent", "aider").strip()
    project.must("up", "--until-idle")

    first, _ = project.show(task)["attempts"]
    assert first["diagnosis"]["subcategory"] == "no_evidence"
    assert project.git("diff", "--name-only", "main", f"medbay/{task}").split() == ["list.txt"]
    project.write(".aider.input.history", "x\n")
    assert project.is_clean()


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
    attempts = found["third"]["attempts"]
    assert len(attempts) == 2, [each["diagnosis"] for each in attempts]
    first, second = attempts
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
    if shutil.which("bwrap") is None:
        pytest.skip("NO BUBBLEWRAP: agents in a sandbox are not tested; install the package bubblewrap")
    own = Path(f"/tmp/{tmp_path.parent.name}-{os.getpid()}")  # in the temporary files of the agent alone
    with HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        project.agent(
            f"""
            echo mine > mine.txt; echo x > {own} && echo '{{"summary": "wrote"}}' > "$MEDBAY_RESULT"
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
    assert not any((each / "a").exists() for each in outside) and not own.exists()
    assert project.git("show", f"medbay/{task}:network.txt").split("\n") == ["200", "403", "no way", ""]


def test_a_person_sees_takes_and_takes_back_what_an_agent_did(project: Project) -> None:
    """diff, merge, diff again, revert on a branch with a question; nothing of that inside an attempt."""
    project.agent("echo four >> list.txt")
    task = project.add("Add four", "--check", "grep -q four list.txt")
    project.must("up", "--until-idle")

    assert "+four" in project.must("diff", task)
    assert "list.txt | 1 +" in project.must("diff", task, "--stat")
    assert json.loads(project.must("diff", task, "--attempt", "1", "--json"))["branch"] == f"medbay/{task}"
    project.must("diff", task, "--attempt", "7", code=3)
    project.must("revert", task, code=4)

    assert json.loads(project.must("merge", task, "--json"))["how"] == "merged"
    assert project.is_clean() and "four" in (project.home / "list.txt").read_text(encoding="utf-8")
    assert "merged into main as" in project.must("merge", task)
    assert "+four" in project.must("diff", task)
    reverted = json.loads(project.must("revert", task, "--json"))
    assert project.git("show", f"{reverted['branch']}:list.txt") == "one\ntwo\nthree\n"
    assert project.is_clean() and "Revert" in project.must("inbox")
    assert "task:rolled_back" in {each["name"] for each in project.events()}
    assert any("merged" in each["data"].get("changed", ()) for each in project.events())

    project.environ["MEDBAY_ATTEMPT_KEY"] = "x"
    for words in (("merge", task), ("revert", task), ("bisect", task), ("worktrees", "--clean")):
        project.must(*words, code=4)


def test_a_merge_never_touches_what_a_person_has_changed(project: Project) -> None:
    """A dirty main tree: in other files it goes on, in the same ones the branch is kept and said so."""
    project.agent("echo four >> list.txt", on_pass="merge")
    project.write("list.txt", "mine\n")

    task = project.add("Add four")
    project.must("up", "--until-idle")

    assert project.show(task)["status"] == "completed"
    assert (project.home / "list.txt").read_text(encoding="utf-8") == "mine\n"
    assert any("in the way" in each["data"].get("warning", "") for each in project.events())
    assert "in the way" in project.must("merge", task, code=4)
    project.git("checkout", "list.txt")
    project.write("other.txt", "mine\n")
    project.must("merge", task)
    assert project.git("status", "--porcelain") == "?? other.txt\n"


def test_a_merge_that_conflicts_is_shown_and_changes_nothing(project: Project) -> None:
    """Exit 1, with the place."""
    project.agent("sed -i s/two/zwei/ list.txt")
    task = project.add("Translate")
    project.must("up", "--until-idle")
    project.write("list.txt", "one\ndeux\nthree\n")
    head = project.commit("Another translation")

    said = project.must("merge", task, code=1)

    assert "conflicts with main in list.txt" in said and "<<<<<<<" in said and "deux" in said and "zwei" in said
    assert project.is_clean() and project.git("rev-parse", "HEAD").strip() == head


def test_a_detached_main_tree_keeps_the_branch(project: Project) -> None:
    """There is no branch to merge into."""
    project.agent("echo four >> list.txt", on_pass="merge")
    project.git("checkout", "--quiet", "--detach")

    task = project.add("Add four")
    project.must("up", "--until-idle")

    assert project.show(task)["status"] == "completed"
    assert "began on a commit" in project.must("merge", task, code=4)
    assert "four" in project.git("show", f"medbay/{task}:list.txt") and project.is_clean()


def test_no_hook_runs_where_an_agent_works(project: Project) -> None:
    """Neither ours nor those of the agent's own git."""
    hooks = project.home / ".git" / "hooks"
    for name in (
        "pre-commit",
        "post-checkout",
        "post-commit",
        "prepare-commit-msg",
        "post-merge",
        "reference-transaction",
    ):
        (hooks / name).write_text(f'#!/bin/sh\necho {name} >> "{project.state}/hooked"\nexit 1\n', encoding="utf-8")
        (hooks / name).chmod(0o755)
    path = project.state / "agent.sh"
    project.write(
        "medbay.toml", f'{QUICK}\n[agents.fake]\ncommand = ["{path}", "{{prompt_file}}"]\non_pass = "merge"\n'
    )
    script = "echo four >> list.txt; git add -A; git commit -qm mine; echo five >> list.txt"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)

    task = project.add("Add four")
    project.must("up", "--until-idle")

    assert project.show(task)["status"] == "completed" and not (project.state / "hooked").exists()
    assert "five" in (project.home / "list.txt").read_text(encoding="utf-8")


def test_submodules_and_pointers_of_large_files_are_there(project: Project, tmp_path: Path) -> None:
    """A submodule is filled from what the main tree has; a pointer stays one, whether git-lfs is there or not."""
    part = tmp_path / "part"
    part.mkdir()
    project.git("init", "--quiet", cwd=part)
    (part / "inside.txt").write_text("inside\n", encoding="utf-8")
    project.git("add", "-A", cwd=part)
    project.git("commit", "--quiet", "-m", "Part", cwd=part)
    project.git("submodule", "--quiet", "add", str(part), "part")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12\n"
    project.write("large.bin", pointer)
    project.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
    part.rename(tmp_path / "gone")
    project.agent("cp part/inside.txt copied.txt; cat large.bin >> copied.txt", on_pass="merge")

    task = project.add("Copy")
    project.must("up", "--until-idle")

    assert project.show(task)["status"] == "completed", project.must("log", task)
    assert (project.home / "copied.txt").read_text(encoding="utf-8") == "inside\n" + pointer
    assert project.is_clean()


def test_a_worktree_is_set_up_once_for_its_lock_file(project: Project) -> None:
    """Copied files and what setup makes are there and never committed; a failed setup is not the agent's failure."""
    project.write(".env", "SECRET=1\n")
    (project.home / ".git" / "info" / "exclude").write_text(".env\n", encoding="utf-8")
    project.write("requirements.txt", "a\n")
    setup = 'echo made >> "$STATE/setups"; mkdir -p deps && cp requirements.txt deps/'
    script = (
        '[ -f .env ] && [ -f deps/requirements.txt ] && echo "$MEDBAY_ATTEMPT" >> work.txt; [ "$MEDBAY_ATTEMPT" = 2 ]'
    )
    project.agent(script, setup=setup, copy=[".env", "missing"])

    task = project.add("Work", "--env", f"STATE={project.state}")
    project.must("up", "--until-idle")

    assert project.show(task)["status"] == "completed"
    assert (project.state / "setups").read_text(encoding="utf-8") == "made\n"
    assert project.git("diff", "--name-only", "main", f"medbay/{task}") == "work.txt\n"
    assert project.git("show", f"refs/medbay/{task}/1:work.txt") == "1\n"
    assert project.git("show", f"medbay/{task}:work.txt") == "1\n2\n"

    project.agent("echo x > x.txt", setup="echo no registry; exit 3")
    broken = project.add("Work again")
    project.must("up", "--until-idle", code=75)
    asked = project.show(broken)
    assert (asked["status"], {each["charged"] for each in asked["attempts"]}) == ("blocked", {False})
    assert asked["last_category" if "last_category" in asked else "category"] == "unknown/setup"
    assert "no registry" in project.must("log", broken)


def test_two_repositories_and_a_directory_inside_one(project: Project, tmp_path: Path) -> None:
    """Each task works in the repository of its directory, in the same directory of its worktree."""
    other = Project(tmp_path / "other", project.state)
    other.write("sub/a.txt", "a\n")
    other.commit("Sub")
    project.agent("pwd > where.txt")

    here = project.add("Here")
    there = project.add("There", "--cwd", str(other.home / "sub"))
    project.must("up", "--until-idle")

    assert project.git("show", f"medbay/{here}:where.txt").strip() == str(project.worktree(here))
    assert other.git("show", f"medbay/{there}:sub/where.txt").strip() == str(other.worktree(there) / "sub")
    assert project.is_clean() and other.is_clean()
    listed = {each["name"]: each for each in json.loads(project.must("worktrees", "--json"))}
    assert {listed[here]["repository"], listed[there]["repository"]} == {str(project.home), str(other.home)}


def test_work_of_an_attempt_that_was_killed_is_handed_on(project: Project) -> None:
    """SIGKILL for all of it: the main tree is as it was, the next attempt has what lay there, stale locks are gone."""
    script = """
    if [ "$MEDBAY_ATTEMPT" = 1 ]; then
        echo "error: it broke"; echo half > half.txt; git add half.txt
        touch "$(git rev-parse --git-dir)/index.lock"; kill -9 $PPID; kill -9 $$
    fi
    echo whole > whole.txt
    """
    project.agent(script, on_pass="merge")

    task = project.add("Twice", "--check", "test -f half.txt && test -f whole.txt")
    project.must("up", "--until-idle")

    assert project.show(task)["attempts_total"] == 2 and project.show(task)["status"] == "completed"
    assert project.git("ls-tree", "--name-only", f"refs/medbay/{task}/1").split() == [
        "half.txt",
        "list.txt",
        "medbay.toml",
    ]
    assert project.is_clean() and (project.home / "half.txt").exists()


def test_old_worktrees_are_removed_and_made_again(project: Project) -> None:
    """By hand and by age; what lies in one is committed first, and the task goes on with it."""
    project.agent("echo x >> work.txt; echo 'fatal: Permission denied'; exit 1")
    task = project.add("Work")
    project.must("up", "--until-idle", code=75)
    lies = project.worktree(task) / "lies.txt"
    lies.write_text("x\n", encoding="utf-8")

    assert json.loads(project.must("worktrees", "--json"))[0]["uncommitted"] == 1
    assert project.must("worktrees", "--clean") == ""
    assert json.loads(project.must("worktrees", task, "--clean", "--dry-run", "--json"))[0]["name"] == task
    assert task in project.must("worktrees", task, "--clean")
    assert not lies.parent.exists() and project.git("show", f"medbay/{task}:lies.txt") == "x\n"
    project.must("worktrees", "nothing", "--clean", code=3)
    project.must("worktrees", "nothing", code=3)
    for each in (project.add("Later"), project.must("add", "plain", "--run", "true").strip()):
        project.must("merge", each, "--unfinished", code=3)
        project.must("diff", each, code=3)
        project.must("cancel", each)

    project.must("answer", task, "retry")
    project.must("up", "--until-idle", code=75)
    assert "lies.txt" in project.git("ls-tree", "--name-only", f"medbay/{task}")

    os.utime(project.worktree(task).with_name(f"{task}.lock"), (1, 1))
    project.must("answer", task, "cancel")
    project.agent("echo x > x.txt")
    project.add("Another")
    project.must("up", "--until-idle")
    assert [each["name"] for each in json.loads(project.must("worktrees", "--json"))] != [task]
    assert not lies.parent.exists()


def test_a_regression_is_found_by_bisection(project: Project) -> None:
    """In a worktree of its own, with the check of the task, reported on it."""
    project.agent("echo four >> list.txt", on_pass="merge")
    task = project.add("Add four", "--check", "grep -q four list.txt")
    project.must("up", "--until-idle")
    for number in range(6):
        project.write("other.txt", f"{number}\n")
        if number == 3:
            project.write("list.txt", "one\n")
        made = project.commit(f"Change {number}")
        culprit = made if number == 3 else locals().get("culprit", "")

    found = json.loads(project.must("bisect", task, "--json"))

    assert found["commit"] == culprit and "Change 3" in found["summary"]
    assert project.is_clean() and len(project.git("worktree", "list").splitlines()) == 2
    assert any("Change 3" in each["data"].get("fails_since", "") for each in project.events())
    project.must("bisect", task, "--bad", culprit + "~1", code=4)
    project.must("bisect", task, "--check", "9", code=2)


def test_an_agent_that_writes_files_in_its_worktree_is_not_stuck(project: Project) -> None:
    """It prints nothing and computes nothing for longer than the stall time, and is left alone."""
    project.agent("for n in 1 2 3 4 5 6 7 8; do echo $n >> list.txt; sleep 0.4; done; echo done")

    task = project.add("Slowly", "--stall", "1500ms")
    project.must("up", "--until-idle")

    assert [each["outcome"] for each in project.show(task)["attempts"]] == ["succeeded"]


def test_a_task_says_itself_how_it_works(project: Project) -> None:
    """Before its profile: setup, files, what becomes of its branch, or no worktree at all."""
    project.agent("cat made.txt .env >> list.txt 2>&1; echo done", setup="echo profile > made.txt")
    project.write(".env", "own\n")

    task = project.add("Own", "--setup", "echo own > made.txt", "--copy", ".env", "--on-pass", "merge")
    project.must("up", "--until-idle")

    shown = project.show(task)
    assert (shown["status"], shown["setup"], shown["copy"], shown["on_pass"], shown["worktree"]) == (
        "completed",
        "echo own > made.txt",
        [".env"],
        "merge",
        None,
    )
    assert (project.home / "list.txt").read_text(encoding="utf-8") == "one\ntwo\nthree\nown\nown\n"
    assert project.git("status", "--porcelain") == "?? .env\n"
    project.must("add", "x", "--run", "true", "--on-pass", "merge", code=2)

    here = project.add("Here", "--no-worktree")
    project.must("up", "--until-idle")
    assert project.show(here)["status"] == "completed" and project.show(here)["worktree"] is False
    assert "No such file" in (project.home / "list.txt").read_text(encoding="utf-8")
    project.must("diff", here, code=3)

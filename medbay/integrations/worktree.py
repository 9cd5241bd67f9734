"""One attempt of an agent in a worktree of its own, as a process: prepare it, run the agent, keep what it did.

It runs between the engine and the agent, so that the engine never waits for git. Ended at any line it leaves the main
tree and its branch as they were: the next attempt finds the worktree, keeps what lies in it and goes on.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cached_property
from pathlib import Path
from typing import Final, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from medbay.core.agent import Profile
from medbay.core.outcome import Outcome
from medbay.core.workspace import FACTS, MARKS_MAX, NAMES_SHOWN, WorkRequest, WorkSeen, WorkspaceMeans, means_for
from medbay.errors import MedbayError, SpawnFailed
from medbay.integrations import bubblewrap
from medbay.integrations.git import (
    LONG_S,
    PACKAGE,
    Git,
    GitFailed,
    folder_of,
    held,
    repository_above,
    without_hooks,
)
from medbay.integrations.passes import SOCKET, TOKEN, Passes
from medbay.integrations.tree_contents import (
    BRANCHES,
    HEADS,
    REFS,
    TreeMemory,
    keep,
    lock_path,
    marked,
    memory_path,
    overlook,
    recalled,
    tree_of,
    write_record,
)
from medbay.places.protocol import Launch
from medbay.places.spawn import arguments

OTHER_S: Final = 20.0  # how long an earlier attempt may still hold the worktree
SETUP_S: Final = 3_600.0
_PROGRAM: Final = (
    "import sys; sys.path.append(sys.argv.pop(1));"
    " from medbay.integrations.worktree import main; sys.exit(main(sys.argv[1]))"
)
_LOCK_FILES: Final = (
    "package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lockb uv.lock poetry.lock pdm.lock Pipfile.lock"
    " requirements.txt requirements-dev.txt Cargo.lock go.sum Gemfile.lock composer.lock mix.lock flake.lock"
).split()
_HOMES: Final = {
    "claude": ("~/.claude", "~/.claude.json"),
    "codex": ("~/.codex",),
    "gemini": ("~/.gemini",),
    "opencode": ("~/.local/share/opencode", "~/.local/state/opencode", "~/.config/opencode", "~/.cache/opencode"),
    "aider": ("~/.aider",),
}
# What an agent leaves beside its work. Where git does not overlook it, aider itself changes .gitignore.
_SCRATCH: Final = {"aider": (".aider*",)}
_STAT: Final = re.compile(r"(\d+) (file|insertion|deletion)")
_MARKS: Final = r"^(<<<<<<< |>>>>>>> )"
_TAIL: Final = 2_000


class WorkPlan(Struct, frozen=True, kw_only=True):
    """Everything the process needs, in the file it is given."""

    root: str  # of all worktrees
    cwd: str  # the directory the task names
    task: str
    attempt: int
    command: tuple[str, ...]  # of the agent
    request: WorkRequest
    means: WorkspaceMeans
    facts: str  # the file for what was seen
    pr_wait_s: float
    pr_rounds: int
    keep_s: float = 0.0  # how long a worktree that is not used is kept; 0: for ever
    readable: tuple[str, ...] = ()  # what a sandboxed agent has to see besides
    writable: tuple[str, ...] = ()
    homes: tuple[str, ...] = ()  # its own directories
    ours: str = ""  # the directory of story folders: never part of what it did
    story: str = ""  # whose phases work in it, where it is no task


class GitSettings(Protocol):
    """What is configured for all repositories."""

    @property
    def keep_ms(self) -> int:
        """How long an unused worktree is kept."""

    @property
    def pr_wait_ms(self) -> int:
        """How long the checks of a pull request are waited for."""

    @property
    def max_pr_rounds(self) -> int:
        """How often they may come back."""


class Worktrees:
    """Gives the attempts of agents their directories, by a process between the engine and the agent."""

    def __init__(self, root: Path, settings: GitSettings, *, passes: Passes | None = None, ours: str = "") -> None:
        self._root = root
        self._ours = ours
        self._settings = settings
        self._passes = passes or Passes()

    def __call__(self, launch: Launch, profile: Profile) -> GitWorkplace:
        """The workplace of one attempt; outside of a repository there is nothing to prepare."""
        means = means_for(launch.work, profile.workspace) if launch.work else profile.workspace
        unwanted = not means.worktree and not means.evidence and not means.sandbox
        if launch.work is None or unwanted or repository_above(launch.cwd) is None:
            return GitWorkplace(launch, None, self._passes)
        log = Path(os.path.abspath(launch.log_path))
        plan = WorkPlan(
            root=str(self._root),
            cwd=str(launch.cwd),
            task=launch.task_id,
            attempt=launch.number,
            command=(),
            request=launch.work,
            means=means,
            facts=str(_facts_path(launch)),
            keep_s=self._settings.keep_ms / 1000,
            pr_wait_s=self._settings.pr_wait_ms / 1000,
            pr_rounds=self._settings.max_pr_rounds,
            readable=(str(log.parent),),
            writable=(os.path.abspath(launch.result_path),),
            ours=self._ours,
        )
        return GitWorkplace(launch, plan, self._passes)


class GitWorkplace:
    """Where one attempt of an agent works: its process moves it into a worktree. Its token opens the engine's door."""

    def __init__(self, launch: Launch, plan: WorkPlan | None, passes: Passes) -> None:
        self._passes = passes
        self._token = passes.issue(launch)
        self.cwd = launch.cwd
        self.files = _tree_path(plan) if plan is not None and plan.means.worktree else None
        self.env: Mapping[str, str] = {SOCKET: passes.socket, TOKEN: self._token} if self._token else {}
        self._launch = launch
        self._plan = plan

    def command(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """What is started for a command of the agent; raises SpawnFailed when its plan cannot be written."""
        if self._plan is None:
            return words
        path = Path(os.path.abspath(self._launch.log_path)).with_suffix(".plan.json")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            Path(self._plan.facts).unlink(missing_ok=True)
            write_record(path, replace(self._plan, command=words, homes=_homes(words[0])))
        except OSError as error:
            raise SpawnFailed(f"cannot write {path}: {error.strerror}") from error
        return (sys.executable, "-P", "-c", _PROGRAM, PACKAGE, str(path))

    def left(self, outcome: Outcome) -> Outcome:
        """The outcome with what was seen of the work, and of the files it named those that are there."""
        self._passes.revoke(self._token)
        try:
            work = msgspec.json.decode(_facts_path(self._launch).read_bytes(), type=WorkSeen) if self._plan else None
        except (OSError, msgspec.MsgspecError):  # it was ended before it could say
            work = None
        if work is None:
            return outcome
        result = outcome.output.result or {}
        there = tuple(each for each in result.get("artifacts") or () if _is_below(work.directory, str(each)))
        seen = msgspec.to_builtins(replace(work, artifacts=there))
        return replace(outcome, output=replace(outcome.output, result={**result, FACTS: seen}))


def _tree_path(plan: WorkPlan) -> Path | None:
    """Where the worktree of an attempt will be, found without starting git; None where that is not plain to see."""
    top = repository_above(os.path.realpath(plan.cwd))
    if top is None or not (top / ".git").is_dir():
        return None
    return folder_of(Path(plan.root), top / ".git") / plan.request.name


def _homes(program: str) -> tuple[str, ...]:
    """Where an agent keeps its settings, its sign-in and its sessions, as far as that is there."""
    known = _HOMES.get(os.path.basename(program), ())
    return tuple(path for path in map(os.path.expanduser, known) if os.path.lexists(path))


def _is_below(directory: str, name: str) -> bool:
    path = Path(os.path.realpath(os.path.join(directory, name)))
    return path.is_file() and path.is_relative_to(os.path.realpath(directory))


def _facts_path(launch: Launch) -> Path:
    return Path(os.path.abspath(launch.log_path)).with_suffix(".work.json")


def main(plan_path: str) -> int:
    """Prepare, run, keep; the exit code or the signal is the agent's."""
    plan = msgspec.json.decode(Path(plan_path).read_bytes(), type=WorkPlan)
    facts = Path(plan.facts)
    facts.unlink(missing_ok=True)
    place = AttemptTree(plan)
    try:
        with place.taken():
            work = place.prepare()
            with place.command() as command:
                code = _run(command, Path(work.directory))
            write_record(facts, place.finish(work))
        place.clear_old()
    except MedbayError as error:
        print(f"[medbay] {error}", file=sys.stderr, flush=True)
        write_record(facts, WorkSeen(repository=plan.cwd, directory=plan.cwd, problem=str(error)))
        return 1
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


class AttemptTree:
    """The directory of one attempt: a worktree, or the main tree where none is wanted or possible."""

    def __init__(self, plan: WorkPlan) -> None:
        self._plan = plan
        self._main = Git(os.path.realpath(plan.cwd))
        self._name = plan.request.name
        self._begun = ""  # the tree before the agent came
        self._conflicts: tuple[str, ...] = ()

    @cached_property
    def folder(self) -> Path:
        """For all worktrees of this repository."""
        return folder_of(Path(self._plan.root), self._main.common)

    @cached_property
    def is_worktree(self) -> bool:
        """Whether it is apart from the main tree; without a first commit it cannot be."""
        return self._plan.means.worktree and self._main.commit_of("HEAD") is not None

    @cached_property
    def tree(self) -> Git:
        """git where the agent works."""
        return self._main.at(self.folder / self._name) if self.is_worktree else self._main.at(self._main.top)

    @property
    def directory(self) -> Path:
        """The directory the task names, in the worktree."""
        inside = os.path.relpath(self._main.directory, self._main.top)
        return self.tree.directory / inside if self.is_worktree else self._main.directory

    def taken(self) -> AbstractContextManager[None]:
        """Held for as long as the attempt lasts: nobody cleans it away, no second attempt begins in it."""
        if self.is_worktree:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock_path(self.tree.directory).touch(mode=0o600)
            return held(lock_path(self.tree.directory), timeout_s=OTHER_S)
        return nullcontext()

    def prepare(self) -> WorkSeen:
        """Make the worktree ready; raises MedbayError where it cannot be."""
        plan, memory = self._plan, TreeMemory(left_out=self._ours)
        if scratch := _SCRATCH.get(os.path.basename(next(iter(plan.command), ""))):
            with self._main.locked():
                overlook(self._main, scratch)
        if self.is_worktree:
            with self._main.locked():
                self._place_tree()
            memory = recalled(self.tree.directory)
            self._keep_leftovers(memory)
            self._provide(memory)
            if plan.request.conflict:
                self._bring_in_base()
        if memory.failing is None and plan.means.evidence and self.is_worktree:
            memory.failing = self._failing_checks()
            memory.left_out = self._untracked()
            self._remember(memory)
        self._begun = tree_of(self.tree, memory.left_out)
        return WorkSeen(
            repository=str(self._main.top),
            directory=str(self.directory),
            worktree=str(self.tree.directory) if self.is_worktree else "",
            branch=f"{BRANCHES}{self._name}" if self.is_worktree else "",
            start=self._ref("start") or "",
            failing=memory.failing or (),
            evidence=plan.means.evidence,
            on_pass=plan.means.on_pass,
            pr_wait_s=plan.pr_wait_s,
            pr_rounds=plan.pr_rounds,
        )

    def command(self) -> AbstractContextManager[tuple[str, ...]]:
        """The agent's command, in its sandbox where one is wanted."""
        plan = self._plan
        if plan.means.sandbox != "bwrap":
            return nullcontext(plan.command)
        door = os.environ.get(SOCKET)
        see = (str(self._main.top), str(self._main.common), *plan.readable, *([os.path.dirname(door)] if door else []))
        change = (str(self.tree.directory), *plan.writable, *plan.homes)
        return bubblewrap.sandboxed(plan.command, readable=see, writable=change, hosts=plan.means.hosts)

    def finish(self, work: WorkSeen) -> WorkSeen:
        """Keep what it did in a commit of its branch and under a ref of the attempt; say what that is."""
        left_out = recalled(self.tree.directory).left_out if self.is_worktree else self._ours
        if not self.is_worktree:
            after = tree_of(self.tree, left_out)
            return self._counted(replace(work, changed=after != self._begun, head=""), after)
        head = self._keep(left_out, self._message())
        after = self.tree.run("rev-parse", f"{head}^{{tree}}")
        names = self.tree.ask("grep", "-lE", _MARKS, head, "--", *self._conflicts) if self._conflicts else ""
        unresolved = tuple(sorted(each.partition(":")[2] for each in (names or "").splitlines()))
        marks = "\n".join(f"--- {each}\n{marked(self.tree.run('show', f'{head}:{each}'))}" for each in unresolved)
        work = replace(work, head=head, unresolved=unresolved, marks=marks[:MARKS_MAX])
        return self._counted(replace(work, changed=after != self._begun), after)

    def clear_old(self) -> None:
        """Remove what no attempt has used for long, beside this one; what stands in the way waits for the next."""
        from medbay.integrations import clearing

        if self.is_worktree and self._plan.keep_s:
            with suppress(MedbayError, OSError):
                clearing.clear_old(self.folder, before_ms=round((time.time() - self._plan.keep_s) * 1000))

    def _place_tree(self) -> None:
        """Find the worktree of an earlier attempt, or make one: from its branch, or from where the main tree is."""
        main, path, branch = self._main, self.tree.directory, f"{BRANCHES}{self._name}"
        if self._is_ours(path):
            for stale in ("index.lock", "HEAD.lock"):  # of a process that was killed: nobody else works here
                (self.tree.own / stale).unlink(missing_ok=True)
            return
        if path.exists():
            shutil.rmtree(path)
        main.run("worktree", "prune")
        if main.commit_of(HEADS + branch) is None:
            head = main.run("rev-parse", "HEAD")
            if (base := main.branch) is not None:
                main.run("symbolic-ref", f"{REFS}/{self._name}/base", base)
            main.run("update-ref", f"{REFS}/{self._name}/start", head)
            main.run("branch", "--no-track", branch, head)
        main.run("worktree", "add", "--force", str(path), branch, timeout_s=LONG_S)
        known = TreeMemory(task=self._plan.task, story=self._plan.story, left_out=self._ours)
        known.failing = recalled(path).failing
        self._remember(known)  # what was set up is gone

    def _is_ours(self, path: Path) -> bool:
        if not (path / ".git").is_file():
            return False
        there = self._main.at(path)
        found = there.ask("rev-parse", "--path-format=absolute", "--git-common-dir")
        top = there.ask("rev-parse", "--show-toplevel")
        return found == str(self._main.common) and top is not None and os.path.samefile(top, path)

    def _keep_leftovers(self, memory: TreeMemory) -> None:
        """What an attempt that was killed left uncommitted is its work too."""
        before = self._plan.attempt - 1
        if before > 0:
            self._keep(memory.left_out, f"Work of attempt {before}, which did not end by itself", attempt=before)

    def _provide(self, memory: TreeMemory) -> None:
        """Submodules, copied files, and what `setup` makes of the lock files as they are now."""
        self._fill_submodules()
        for name in self._plan.means.copy:
            self._copy(name)
        digest = self._digest()
        if self._plan.means.setup and memory.setup != digest:
            _set_up(self._plan.means.setup, self.directory, Path(self._plan.facts).with_suffix(".setup.log"))
        if memory.setup != digest:
            memory.setup, memory.left_out = digest, self._untracked()
            self._remember(memory)
        self.directory.mkdir(parents=True, exist_ok=True)

    def _fill_submodules(self) -> None:
        """Clone them from what the main tree has of them, where it has; else from where they are."""
        if not (self.tree.directory / ".gitmodules").is_file():
            return
        known = self.tree.ask("config", "--file", ".gitmodules", "--name-only", "--get-regexp", r"\.path$") or ""
        near: list[str] = ["-c", "protocol.file.allow=always"]
        for name in (each.removeprefix("submodule.").removesuffix(".path") for each in known.splitlines()):
            if (self._main.common / "modules" / name).is_dir():
                near += ["-c", f"submodule.{name}.url={self._main.common / 'modules' / name}"]
        self.tree.run(*near, "submodule", "update", "--init", "--recursive", timeout_s=LONG_S)

    def _copy(self, name: str) -> None:
        """A file of the main tree, below it and through no link that leads out of it; one that is missing is not."""
        source = Path(os.path.realpath(self._main.top / name))
        target = self.tree.directory / name
        inside = source.is_relative_to(os.path.realpath(self._main.top))
        if not inside or not target.parent.resolve().is_relative_to(self.tree.directory.resolve()):
            raise GitFailed(f'copy = ["{name}"] leads out of the repository', hint="name files inside of it")
        if not source.exists() or os.path.lexists(target):
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True)
        else:
            shutil.copy2(source, target)

    def _bring_in_base(self) -> None:
        """Merge what the other work became, conflicts and all, for the agent to resolve."""
        if (base := self._base()) is None:
            return
        code, _, said = self.tree.call("merge", "--no-commit", "--no-ff", base, timeout_s=LONG_S)
        names = self.tree.run("diff", "--name-only", "--diff-filter=U")
        self._conflicts = tuple(names.splitlines())
        if code != 0 and not self._conflicts:
            raise GitFailed(f"{base} cannot be brought in: {said.strip()[-_TAIL:]}")

    def _failing_checks(self) -> tuple[int, ...]:
        """Which checks fail before anything is done: those that pass later show something."""
        found = []
        for position, check in enumerate(self._plan.request.checks, start=1):
            timeout_s, shell = self._plan.request.check_timeout_s, self._plan.request.shell
            if passes(check.command, self.directory, timeout_s, shell=shell) is False:
                found.append(position)
        return tuple(found)

    def _keep(self, left_out: Sequence[str], message: str, attempt: int | None = None) -> str:
        """Commit what lies in the worktree, and put that under a ref of the attempt; the commit."""
        head = keep(self.tree, self._name, left_out, message)
        self.tree.run("update-ref", f"{REFS}/{self._name}/{attempt or self._plan.attempt}", head)
        return head

    def _message(self) -> str:
        title = " ".join(self._plan.request.title.split())
        return f"{title}\n\nMedbay-Task: {self._name}\nMedbay-Attempt: {self._plan.attempt}"

    def _counted(self, work: WorkSeen, after: str) -> WorkSeen:
        """The same with the size of what the attempt changed."""
        if not work.changed:
            return work
        stat = self.tree.run("diff", "--shortstat", self._begun, after)
        counts = {what: int(number) for number, what in _STAT.findall(stat)}
        names = self.tree.run("diff", "--name-only", "-z", self._begun, after).split("\0")
        return replace(
            work,
            files=counts.get("file", 0),
            insertions=counts.get("insertion", 0),
            deletions=counts.get("deletion", 0),
            names=tuple(filter(None, names))[:NAMES_SHOWN],
        )

    def _untracked(self) -> tuple[str, ...]:
        said = self.tree.run("ls-files", "--others", "--exclude-standard", "--directory", "-z")
        return (*self._ours, *filter(None, said.split("\0")))

    @cached_property
    def _ours(self) -> tuple[str, ...]:
        """What lies in the repository and is Medbay's own."""
        if not self._plan.ours:
            return ()
        inside = os.path.relpath(os.path.realpath(self._plan.ours), self._main.top)
        return () if inside.startswith("..") or inside == "." else (inside,)

    def _ref(self, name: str) -> str | None:
        return self._main.commit_of(f"{REFS}/{self._name}/{name}") if self.is_worktree else None

    def _base(self) -> str | None:
        name = self._main.ask("symbolic-ref", "--quiet", f"{REFS}/{self._name}/base")
        return name if name and self._main.commit_of(name) else None

    def _digest(self) -> str:
        said = hashlib.sha256(self._plan.means.setup.encode())
        for folder in {self.tree.directory, self.directory}:
            for name in _LOCK_FILES:
                with suppress(OSError):
                    said.update(name.encode() + (folder / name).read_bytes())
        return said.hexdigest()

    def _remember(self, memory: TreeMemory) -> None:
        write_record(memory_path(self.tree.directory), memory)


def _run(command: Sequence[str], directory: Path) -> int:
    """The agent to its end, in our own group: what ends us ends it. What asks us to stop is handed on."""
    asked: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda got, _: asked.append(got))
    try:
        child = subprocess.Popen(command, cwd=directory, env={**os.environ, **without_hooks(os.environ)})
    except OSError as error:
        print(f"[medbay] {command[0]}: {error.strerror}", file=sys.stderr, flush=True)
        return 126 if isinstance(error, PermissionError) else 127
    handed_on = 0
    while True:
        try:
            return child.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            if len(asked) > handed_on:
                child.send_signal(asked[-1])
                handed_on = len(asked)


def _set_up(line: str, directory: Path, log: Path) -> None:
    """Prepare the worktree as the profile says; its output is shown only where it fails."""
    directory.mkdir(parents=True, exist_ok=True)
    with open(log, "w+b") as out:
        try:
            done = subprocess.run(
                arguments(line), cwd=directory, stdin=subprocess.DEVNULL, stdout=out, stderr=out, timeout=SETUP_S
            )
            how = f"exit {done.returncode}" if done.returncode else ""
        except subprocess.TimeoutExpired:
            how = f"no end after {SETUP_S:g} s"
        if not how:
            return
        out.seek(max(0, out.tell() - _TAIL))
        print(out.read().decode("utf-8", "replace"), file=sys.stderr, flush=True)
    raise GitFailed(f"setup failed with {how}: {line}", hint=f"its output is in {log}")


def passes(command: tuple[str, ...] | str, directory: Path, timeout_s: float, *, shell: str = "") -> bool | None:
    """Whether a check passes; None when it could not be run to its end, which says nothing."""
    try:
        child = subprocess.Popen(
            arguments(command, shell),
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
    except OSError:
        return None
    try:
        code = child.wait(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        return None
    return None if code in (126, 127) or code < 0 else code == 0

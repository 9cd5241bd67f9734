"""The directory an agent works in: what is asked for before an attempt, and what is known of its work afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from medbay.core.model import Check, Task
from medbay.core.outcome import Outcome, Succeeded

OnPass = Literal["keep", "merge", "pr"]
FACTS: Final = "work"  # the key of a result under which what we saw of the work stands; no agent can write it
CONFLICT: Final = "merge_conflict"
SETUP: Final = "setup"
PULL_REQUEST: Final = "pull_request"
REVISION: Final = "revision"  # the role of what changes the work of a completed task whose pull request came back
PR_WAIT_S: Final = 1_800.0
PR_ROUNDS: Final = 3
EXEMPT: Final = ("review", "triage")  # they change nothing; what they deliver is looked at by rules of their own
NAMES_SHOWN: Final = 50
MARKS_MAX: Final = 4_000


class WorkspaceMeans(Struct, frozen=True, kw_only=True):
    """How a profile wants its directory."""

    worktree: bool = True
    setup: str = ""  # a command line that prepares a new worktree
    copy: tuple[str, ...] = ()  # files of the main tree that git does not know
    on_pass: OnPass = "keep"
    evidence: bool = True
    sandbox: str = ""  # or "bwrap"
    hosts: tuple[str, ...] = ()  # that a sandboxed agent may reach


class WorkRequest(Struct, frozen=True, kw_only=True):
    """What an attempt needs to know of its task to prepare a worktree and to judge it afterwards."""

    name: str  # of worktree and branch
    title: str
    checks: tuple[Check, ...] = ()
    shell: str = ""  # of the checks
    check_timeout_s: float = 300.0
    worktree: str = ""  # what the task itself says, before its profile
    setup: str = ""
    copies: tuple[str, ...] = ()
    on_pass: str = ""
    conflict: bool = False  # the attempt before could not be merged: the other changes are brought in first


class WorkSeen(Struct, frozen=True, kw_only=True):
    """What we saw of the work of one attempt."""

    repository: str  # of the directory the task names
    directory: str  # where it worked, and where its checks run
    worktree: str = ""  # empty: in the main tree
    branch: str = ""
    start: str = ""  # the commit the task began on
    head: str = ""  # the commit that holds its work
    changed: bool = False  # by this attempt
    files: int = 0
    insertions: int = 0
    deletions: int = 0
    names: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()  # files with conflict marks
    marks: str = ""  # the places of them
    failing: tuple[int, ...] = ()  # the checks that failed before it began, counted from 1
    artifacts: tuple[str, ...] = ()  # files it named and made
    evidence: bool = True  # whether something has to show that it is done
    on_pass: OnPass = "keep"
    pr_wait_s: float = PR_WAIT_S  # how long the checks of a pull request are waited for
    pr_rounds: int = PR_ROUNDS  # how often they may come back as a failure
    problem: str = ""  # why it could not be prepared or looked at

    @property
    def lands(self) -> bool:
        """Whether more than a kept branch follows once it has passed."""
        return self.on_pass != "keep" and bool(self.worktree)


class PullRequestMade(Struct, frozen=True, kw_only=True):
    """A task asked for the merge of its branch; a revision of it goes on with the same request."""

    name: str  # of the branch, which each round of a task that recurs has for itself
    task_id: str
    url: str
    host: str  # whose repository has the branch


class Landed(Struct, frozen=True, kw_only=True):
    """What became of a branch."""

    how: Literal["merged", "kept", "conflict", "pr", "refused", "given_up", "closed"]
    words: str
    commit: str = ""
    into: str = ""
    url: str = ""
    waiting: bool = False  # checks of the pull request have not ended, or none has begun


class StandingTree(Struct, frozen=True, kw_only=True):
    """One worktree of ours."""

    name: str
    path: str
    task: str
    story: str  # empty: it is of a task
    repository: str  # the main tree; empty: it is gone
    branch: str
    used_at: int  # milliseconds since the epoch
    busy: bool  # an attempt works in it now
    merged: bool
    uncommitted: int  # files


def branch_name(task_id: str, round_number: int) -> str:
    """What the worktree and the branch of a round of a task are called; the first has the plain name."""
    return f"{task_id}-{round_number}" if round_number > 1 else task_id


def round_of(task_id: str, name: str) -> int:
    """Which round of a task has a branch of this name; 0: it has the plain one."""
    return int(name.removeprefix(task_id).removeprefix("-") or 0)


def made_by(task: Task) -> tuple[str, str]:
    """Whose work an attempt of this task is part of, and the name of its branch; a revision changes that of another."""
    if task.role == REVISION:
        return task.owner_id, branch_name(task.owner_id, task.position)
    return task.id, branch_name(task.id, task.iterations_done + 1)


def requested(task: Task) -> WorkRequest | None:
    """What an attempt of this task asks for. Every round of a task that recurs has a worktree of its own."""
    if task.role in EXEMPT:
        return None
    return WorkRequest(
        name=made_by(task)[1],
        title=task.title,
        checks=task.checks,
        shell=task.shell,
        check_timeout_s=task.check_timeout_ms / 1000,
        worktree=task.worktree,
        setup=task.setup,
        copies=task.copies,
        on_pass=task.on_pass,
        conflict=task.last_category == f"unknown/{CONFLICT}" and task.streak > 0,
    )


def means_for(request: WorkRequest, means: WorkspaceMeans) -> WorkspaceMeans:
    """How one task wants its directory: what it says itself, else what its profile says."""
    said: dict[str, Any] = {"setup": request.setup, "copy": request.copies, "on_pass": request.on_pass}
    made = replace(means, **{name: value for name, value in said.items() if value})
    return replace(made, worktree=request.worktree == "yes") if request.worktree else made


def seen(result: Mapping[str, Any] | None) -> WorkSeen | None:
    """What is known of the work of an attempt, by its result."""
    found = (result or {}).get(FACTS)
    try:
        return None if found is None else msgspec.convert(found, WorkSeen)
    except msgspec.ValidationError:
        return None


def diff_stat(work: WorkSeen) -> str:
    """What is changed since the task began, as git sums it up; empty when nothing is."""
    if not work.files:
        return ""
    more = work.files - len(work.names)
    names = (*work.names, f"and {more} more") if more > 0 else work.names
    sums = f"{work.files} files changed, {work.insertions} insertions(+), {work.deletions} deletions(-)"
    return "\n".join((*names, sums))


def to_land(outcome: Outcome) -> WorkSeen | None:
    """The work of a success that more has to follow from than a kept branch."""
    work = seen(outcome.output.result) if isinstance(outcome, Succeeded) else None
    return work if work is not None and work.lands else None


def kept(outcome: Outcome) -> Outcome:
    """The outcome of work elsewhere: its branch stays in the repository of that machine, and nothing merges it here."""
    result = outcome.output.result
    if result is None or not isinstance(result.get(FACTS), Mapping):
        return outcome
    facts = {**result[FACTS], "on_pass": "keep"}
    return replace(outcome, output=replace(outcome.output, result={**result, FACTS: facts}))

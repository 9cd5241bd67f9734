"""What follows from each kind of failure: is it charged, can a retry help, which session goes on. One table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from medbay.core.diagnosis.record import Session


@dataclass(frozen=True, slots=True)
class Consequence:
    """One row: does it use up an attempt, can trying again help, which session, and what helps."""

    charge: bool
    retryable: bool
    session: Session | None
    advice: str


def consequence_of(category: str, subcategory: str | None) -> Consequence:
    """The row of a kind; an unlisted subcategory follows its category."""
    exact = CONSEQUENCES.get(f"{category}/{subcategory}")
    return exact if exact is not None else CONSEQUENCES[category]


def advice_for(category: str, subcategory: str | None) -> str:
    """The advice of a kind, for rules that have nothing sharper to say."""
    return consequence_of(category, subcategory).advice


def _row(advice: str, *, charge: bool, retry: bool = True, session: Session | None = None) -> Consequence:
    return Consequence(charge=charge, retryable=retry, session=session, advice=advice)


CONSEQUENCES: Final[dict[str, Consequence]] = {
    "transient": _row("Wait and try again; nothing in the project has to change.", charge=False, session="resume"),
    "transient/rate_limit": _row(
        "Wait until the limit allows requests again, and send fewer at once.", charge=False, session="resume"
    ),
    "transient/usage_limit": _row(
        "Wait until the account's limit resets; nothing else helps sooner.", charge=False, session="resume"
    ),
    "transient/overloaded": _row(
        "The service is overloaded; wait a little longer each time and try again.", charge=False, session="resume"
    ),
    "transient/service": _row(
        "The service failed on its side; try again, and look at its status page if it lasts.",
        charge=False,
        session="resume",
    ),
    "transient/network": _row(
        "Try again; if it lasts, check that the host is up and can be reached from here.",
        charge=False,
        session="resume",
    ),
    "transient/lock": _row(
        "Another process holds it; wait for that one to end, or find and stop it.", charge=False, session="resume"
    ),
    "transient/spawn": _row(
        "The process could not be started; try again once the old process tree is gone.",
        charge=False,
        session="resume",
    ),
    "transient/lost": _row(
        "The worker was lost; run it again once the old process tree is proved dead.",
        charge=False,
        session="resume",
    ),
    "code_error": _row("Fix the code{place}, then run the same command again.", charge=True, session="fresh"),
    "code_error/syntax": _row("Fix the syntax{place}; nothing ran yet.", charge=True, session="fresh"),
    "code_error/type": _row("Correct the type or the name{place}.", charge=True, session="fresh"),
    "code_error/compile": _row(
        "Fix the first compile error; later ones often follow from it.", charge=True, session="fresh"
    ),
    "code_error/link": _row(
        "Define the missing symbol or add its object or library to the link.", charge=True, session="fresh"
    ),
    "code_error/lint": _row("Fix the findings, or let the tool's fix mode do it.", charge=True, session="fresh"),
    "code_error/runtime": _row(
        "Fix the exception at the deepest frame of the project's own code.", charge=True, session="fresh"
    ),
    "code_error/recursion": _row("Give the recursion an end, or turn it into a loop.", charge=True, session="fresh"),
    "code_error/crash": _row(
        "The process crashed; look at the deepest own frame, or run it under a debugger or sanitizer.",
        charge=True,
        session="fresh",
    ),
    "code_error/session": _row(
        "Start a fresh session: the provider no longer accepts the history of this one.", charge=True, session="fresh"
    ),
    "code_error/config": _row(
        "Correct the configuration or the flags it names; trying again cannot help.", charge=False, retry=False
    ),
    "code_error/version": _row(
        "Use the version of the tool that the project asks for; trying again cannot help.",
        charge=False,
        retry=False,
    ),
    "test_failure": _row(
        "Make the failing test pass: compare what it expected with what it received.", charge=True, session="fresh"
    ),
    "timeout": _row(
        "Make the work smaller or faster, or give it more time if it was making progress.",
        charge=True,
        session="fresh",
    ),
    "timeout/stalled": _row(
        "It stopped making progress; find what it waited for before giving it more time.",
        charge=True,
        session="fresh",
    ),
    "timeout/test": _row(
        "A test exceeded its time limit: find what it waits for, or raise that test's limit.",
        charge=True,
        session="fresh",
    ),
    "resource_exhaustion": _row("Use less of what ran out, or provide more of it.", charge=True, session="fresh"),
    "resource_exhaustion/memory": _row(
        "Use less memory (smaller batches, fewer workers) or raise the limit.", charge=True, session="fresh"
    ),
    "resource_exhaustion/disk": _row("Free disk space or give it a larger volume.", charge=False),
    "resource_exhaustion/file_descriptors": _row(
        "Close files and sockets that are no longer used, or raise the limit of open files.",
        charge=True,
        session="fresh",
    ),
    "resource_exhaustion/processes": _row("Start fewer processes or threads at once.", charge=False),
    "resource_exhaustion/connections": _row(
        "Use fewer connections (a pool) or raise the server's limit; try again when some are free.",
        charge=False,
        session="resume",
    ),
    "resource_exhaustion/context_window": _row(
        "Give it a smaller task or less context; begin a fresh session.", charge=True, session="fresh"
    ),
    "resource_exhaustion/iterations": _row(
        "It used up its turns: split the task or raise the limit of turns.", charge=True, session="fresh"
    ),
    "resource_exhaustion/budget": _row(
        "The budget is used up: hand back what there is, then split the task or ask a person.", charge=True
    ),
    "resource_exhaustion/quota": _row(
        "Credits, quota or spend limit are used up: a person has to add some or raise the limit.",
        charge=False,
        retry=False,
        session="resume",
    ),
    "dependency_missing": _row(
        "Provide what is missing, or correct the name that asks for it.", charge=True, session="fresh"
    ),
    "dependency_missing/command": _row(
        "Install the command or correct the PATH; trying again cannot help.", charge=False, retry=False
    ),
    "dependency_missing/version": _row(
        "Use the version of the tool that the project asks for; trying again cannot help.",
        charge=False,
        retry=False,
    ),
    "dependency_missing/module": _row(
        "Install the missing package and pin it in the project's dependency file.", charge=True, session="fresh"
    ),
    "dependency_missing/package": _row(
        "Correct the package name or version in the dependency file, or add the registry that has it.",
        charge=True,
        session="fresh",
    ),
    "dependency_missing/resolution": _row(
        "Loosen or align the version constraints that contradict each other.", charge=True, session="fresh"
    ),
    "dependency_missing/file": _row("Create the missing file or correct the path to it.", charge=True, session="fresh"),
    "dependency_missing/library": _row(
        "Install the missing library or header, or add its path.", charge=True, session="fresh"
    ),
    "dependency_missing/precondition": _row(
        "Provide what the precondition names, or refresh the task's text.", charge=True
    ),
    "unknown": _row("Read the end of the log; nothing in it names a cause that is known here.", charge=True),
    "unknown/auth": _row(
        "A person has to renew the credentials or grant the right; trying again cannot help.",
        charge=False,
        retry=False,
    ),
    "unknown/permission": _row(
        "A person has to grant the permission or correct the owner or mode; trying again cannot help.",
        charge=False,
        retry=False,
    ),
    "unknown/config": _row(
        "A person has to correct the environment (certificate, repository, settings); trying again cannot help.",
        charge=False,
        retry=False,
    ),
    "unknown/refused": _row(
        "The model refused: say what is wanted and why in other words, or give the work to another profile.",
        charge=True,
        session="fresh",
    ),
    "unknown/pipe": _row(
        "The process it wrote to ended first: find out why that one ended.", charge=True, session="fresh"
    ),
    "unknown/input": _row(
        "It waits for an answer that never comes: give it a flag that answers (--yes), or its input as a file.",
        charge=False,
        retry=False,
    ),
    "unknown/conflict": _row(
        "Bring in the other change and resolve the conflict, or use another name.", charge=True, session="fresh"
    ),
    "unknown/malformed_output": _row(
        "State the required form of the answer again, with the validation error.", charge=True, session="resume"
    ),
    "unknown/no_evidence": _row(
        "It said it was done without showing it: ask for the evidence.", charge=True, session="resume"
    ),
    "unknown/merge_conflict": _row(
        "Resolve the conflict marks so that both changes stay, and leave no mark.", charge=False, session="resume"
    ),
    "unknown/pull_request": _row(
        "Change what the checks and reviewers of the pull request ask for.", charge=False, session="resume"
    ),
    "unknown/setup": _row(
        "Correct the setup of the worktree (`setup`, `copy`), or what it needs; the work itself was not begun.",
        charge=False,
    ),
    "unknown/asked": _row(
        "It asked a person something: answer it, and its session goes on.", charge=False, retry=False, session="resume"
    ),
    "unknown/denied": _row(
        "Allow the tool it needs (`allow` of its profile) or say how to do without; trying again cannot help.",
        charge=False,
        retry=False,
        session="resume",
    ),
    "unknown/max_turns": _row(
        "It used up its turns: make the task smaller, or raise `max_turns` of its profile.",
        charge=True,
        session="fresh",
    ),
    "unknown/loop": _row(
        "It did the same over and over and was stopped: do the next step in another way, or make the task smaller.",
        charge=True,
        session="fresh",
    ),
    "unknown/interrupted": _row("It was stopped from outside; run it again if it is still wanted.", charge=True),
    "unknown/no_failure": _row("The log is of a run that passed; find out what reported a failure.", charge=True),
}

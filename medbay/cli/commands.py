"""The table of commands: name, module, one line of help, section. Listing them imports none of them."""

from __future__ import annotations

from typing import Final, NamedTuple


class Entry(NamedTuple):
    """One command; its module has a click command named `command`, or another attribute where several share one."""

    name: str
    module: str
    help: str
    section: str
    attribute: str = "command"


START: Final = "Start"
LOOK: Final = "Look"
ACT: Final = "Act"
UNDERSTAND: Final = "Understand"
OTHER: Final = "Other"

TABLE: Final = (
    Entry("demo", "demo.show", "a small fleet failing in every way, healing live", START),
    Entry("init", "init", "make .medbay/ and a commented medbay.toml here", START),
    Entry("run", "run", "run one command to its end, with healing", START),
    Entry("add", "add", "add a task, or many from a file, and print the id", START),
    Entry("apply", "apply", "bring the store to what a file of jobs says", START),
    Entry("up", "up", "run what is due until stopped, or --until-idle", START),
    Entry("worker", "up", "one more machine on the same store: only run attempts", START, "worker"),
    Entry("list", "list", "the tasks, what needs you first", LOOK),
    Entry("show", "show", "everything about one task", LOOK),
    Entry("log", "log", "the output of an attempt; -f follows", LOOK),
    Entry("events", "events", "what happened, in order; -f follows", LOOK),
    Entry("inbox", "inbox", "the questions that wait for a person", LOOK),
    Entry("explain", "explain", "why a task is where it is, and what would change that", LOOK),
    Entry("graph", "graph", "what comes after what, and what is stuck behind it", LOOK),
    Entry("workers", "workers", "the engines on this store and what they run", LOOK),
    Entry("incidents", "incidents", "the same failure on many tasks at once; show ID has the rest", LOOK),
    Entry("diff", "branches", "what a task of an agent changed in its repository", LOOK, "diff"),
    Entry(
        "worktrees", "branches", "the worktrees of agents on this machine; --clean removes old ones", LOOK, "worktrees"
    ),
    Entry("answer", "answer", "answer a question", ACT),
    Entry("retry", "act", "retry now", ACT, "retry"),
    Entry("pause", "act", "keep tasks from starting", ACT, "pause"),
    Entry("resume", "act", "let paused tasks go on", ACT, "resume"),
    Entry("cancel", "act", "end tasks for good", ACT, "cancel"),
    Entry("unblock", "act", "release blocked tasks", ACT, "unblock"),
    Entry("block", "act", "take a task out of the way", ACT, "block"),
    Entry("merge", "branches", "merge the branch of a task", ACT, "merge"),
    Entry("revert", "branches", "prepare the revert of a merged task, and ask", ACT, "revert"),
    Entry("bisect", "branches", "find the commit since which a check of a task fails", ACT, "bisect"),
    Entry("triage", "triage", "triage what waiting did not heal, now: --once, --loop", ACT),
    Entry("breaker", "breaker", "what is held and why: list; hold or release by hand: open, close", ACT),
    Entry("reclassify", "reclassify", "correct a diagnosis; later failures like it follow", ACT),
    Entry("loop", "loop", "run tasks in a repeating cycle", ACT),
    Entry("edit", "edit", "change a task from its next attempt on", ACT),
    Entry("diagnose", "diagnose", "what Medbay thinks of an output", UNDERSTAND),
    Entry("patterns", "patterns", "failures seen so far and what worked: list, show, forget", UNDERSTAND),
    Entry("preferences", "preferences", "what you answered before, offered again: list, forget", UNDERSTAND),
    Entry("policy", "policy", "the rules: show, check, dry-run, learn, replay, simulate", UNDERSTAND),
    Entry("lifecycle", "lifecycle", "the states and who may move between them", UNDERSTAND),
    Entry("simulate", "simulate", "the real engine against faults, in virtual time", UNDERSTAND),
    Entry("export", "exchange", "print tasks as JSON lines", OTHER, "export"),
    Entry("import", "exchange", "add the tasks of an export, or of a crontab", OTHER, "import_"),
    Entry("service", "service", "let systemd run it: install, uninstall, status", OTHER),
    Entry("db", "db", "the store: migrate, check, backup, archive, copy", OTHER),
    Entry("doctor", "doctor", "check the store and this machine, and say how to fix it", OTHER),
    Entry("completion", "completion", "print the completion script of a shell", OTHER),
)

BY_NAME: Final = {entry.name: entry for entry in TABLE}

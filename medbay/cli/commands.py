"""The table of commands: name, module, one line of help, section. Listing them imports none of them.

The first view of the help shows `FIRST` alone; `medbay help --all` has the whole table by section.
"""

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
VIEW: Final = "View"
ACT: Final = "Act"
UNDERSTAND: Final = "Understand"
OTHER: Final = "Other"

TABLE: Final = (
    Entry("demo", "demo.show", "watch a small fleet fail in every way and heal", START),
    Entry("init", "init", "create .medbay/ and a short medbay.toml here", START),
    Entry("run", "run", "run one command to its end, with healing", START),
    Entry("add", "add", "add a task, or many from a file, and print the id", START),
    Entry("apply", "apply", "make the store match a file of jobs", START),
    Entry("up", "up", "run what is due until stopped, or until idle (--until-idle)", START),
    Entry("serve", "serve", "serve the dashboard and the API of any store", START),
    Entry("worker", "up", "run attempts on one more machine of the same store", START, "worker"),
    Entry("list", "list", "the tasks, what needs you first", VIEW),
    Entry("top", "top", "the tasks live on the whole screen; single keys act on them", VIEW),
    Entry("show", "show", "everything about one task", VIEW),
    Entry("log", "log", "the output of an attempt; -f follows", VIEW),
    Entry("events", "events", "what happened, in order; -f follows", VIEW),
    Entry("inbox", "inbox", "the questions that wait for a person", VIEW),
    Entry("explain", "explain", "why a task is where it is, and what would change that", VIEW),
    Entry("graph", "graph", "dependencies between tasks, and what is stuck behind what", VIEW),
    Entry("agents", "agents", "the coding agents there are; check NAME calls one", VIEW),
    Entry("prompt", "prompt", "what the next attempt of an agent will be told", VIEW),
    Entry("stats", "stats", "figures of the store: done, healed, retries; --cost", VIEW),
    Entry("report", "report", "the morning report: what to do first, what healed, what it cost", VIEW),
    Entry("workflow", "workflow", "the workflows of stories and tags: list, show, check", UNDERSTAND),
    Entry("story", "story", "stories: new, run, the phases, show, board, stats", START),
    Entry("beads", "beads", "issues of Beads as work: dispatch", START),
    Entry("sync", "sync", "tell trackers and the store of each other", START),
    Entry("capture", "capture", "write a thought down; it becomes a candidate for work", START),
    Entry("captures", "captures", "what was captured: list, show, edit, retry, discard", VIEW),
    Entry("workorders", "workorders", "the runs of the intake agent: list, show", VIEW),
    Entry("candidates", "candidates", "proposed from captures: list, show, edit, promote, discard", VIEW),
    Entry("workers", "workers", "the engines on this store and what they run", VIEW),
    Entry("incidents", "incidents", "one failure shared by many tasks; show ID has the rest", VIEW),
    Entry("diff", "branches", "what the agent of a task changed in its repository", VIEW, "diff"),
    Entry("worktrees", "branches", "the worktrees of agents here; --clean removes old ones", VIEW, "worktrees"),
    Entry("answer", "answer", "answer a question", ACT),
    Entry("decide", "decide", "answer what stories want decided, in one sitting", ACT),
    Entry("retry", "act", "retry now", ACT, "retry"),
    Entry("pause", "act", "keep tasks from starting", ACT, "pause"),
    Entry("resume", "act", "let paused tasks go on", ACT, "resume"),
    Entry("cancel", "act", "stop tasks for good", ACT, "cancel"),
    Entry("unblock", "act", "release blocked tasks", ACT, "unblock"),
    Entry("block", "act", "keep a task out of the queue", ACT, "block"),
    Entry("merge", "branches", "merge the branch of a task", ACT, "merge"),
    Entry("revert", "branches", "prepare the revert of a merged task, and ask", ACT, "revert"),
    Entry("bisect", "branches", "find the commit since which a check of a task fails", ACT, "bisect"),
    Entry("triage", "triage", "triage failures that retries did not heal: --once, --loop", ACT),
    Entry("intake", "intake", "turn captures into candidates: --once, --loop", ACT),
    Entry("promote", "candidates", "make a task of a candidate, and print its id", ACT, "promote"),
    Entry("discard", "candidates", "discard a candidate or a capture", ACT, "discard"),
    Entry("breaker", "breaker", "circuit breakers: list what they hold; open and close by hand", ACT),
    Entry("reclassify", "reclassify", "correct a diagnosis, also for later failures like it", ACT),
    Entry("loop", "loop", "run tasks in a repeating cycle", ACT),
    Entry("edit", "edit", "change a task from its next attempt on", ACT),
    Entry("diagnose", "diagnose", "diagnose a piece of output", UNDERSTAND),
    Entry("patterns", "patterns", "known failures and what worked: list, show, forget", UNDERSTAND),
    Entry("preferences", "preferences", "your remembered answers: list, forget", UNDERSTAND),
    Entry("policy", "policy", "the retry policy: show, check, dry-run, learn, replay, simulate", UNDERSTAND),
    Entry("lifecycle", "lifecycle", "the states of a task and who may move between them", UNDERSTAND),
    Entry("drill", "drill", "try the promises on this machine, with faults made on purpose", UNDERSTAND),
    Entry("simulate", "simulate", "run the real engine against faults, in virtual time", UNDERSTAND),
    Entry("export", "exchange", "print tasks as JSON lines", OTHER, "export"),
    Entry("import", "exchange", "add the tasks of an export or a crontab", OTHER, "import_"),
    Entry("help", "help", "explain a command; --all lists every command", OTHER),
    Entry("mcp", "mcp", "serve agents and other clients over the Model Context Protocol", OTHER),
    Entry("web", "serve", "who may open the dashboard: token add, list, remove", OTHER, "web"),
    Entry("notify", "notify", "channels for messages: list how they are doing, test them", OTHER),
    Entry("service", "service", "run under systemd: install, uninstall, status", OTHER),
    Entry("cache", "cache", "the context that is kept for prompts: show, clear", OTHER),
    Entry("db", "db", "the store: migrate, check, backup, archive, copy", OTHER),
    Entry("doctor", "doctor", "check the store, the configuration and this machine", OTHER),
    Entry("trust", "trust", "allow what this medbay.toml starts and connects to", OTHER),
    Entry("completion", "completion", "print the completion script of a shell", OTHER),
)

BY_NAME: Final = {entry.name: entry for entry in TABLE}

FIRST: Final = ("demo", "init", "run", "add", "up", "list", "show", "log", "inbox", "answer", "doctor", "explain")
"""The commands of the first view: enough for a week."""

SYNONYMS: Final = {
    "check": "doctor",
    "create": "add",
    "daemon": "up",
    "delete": "cancel",
    "history": "events",
    "info": "show",
    "jobs": "list",
    "kill": "cancel",
    "logs": "log",
    "ls": "list",
    "new": "add",
    "ps": "list",
    "questions": "inbox",
    "remove": "cancel",
    "rerun": "retry",
    "restart": "retry",
    "rm": "cancel",
    "start": "up",
    "status": "list",
    "stop": "cancel",
    "submit": "add",
    "tail": "log",
    "tasks": "list",
    "why": "explain",
}
"""Names from other tools, each with the command that does the same here."""

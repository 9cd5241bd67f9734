"""What is known without reading the text: who ended the process, by which signal, with which exit status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from medbay.core.diagnosis.record import CATEGORIES
from medbay.core.diagnosis.rule import compiled


@dataclass(frozen=True, slots=True)
class FactVerdict:
    """A kind, how sure it is, and which rule says so."""

    rule: str
    category: str
    subcategory: str | None
    confidence: float
    summary: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """How the process ended, as its runner saw it."""

    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    stalled: bool = False
    memory_limit_hit: bool = False
    cpu_limit_hit: bool = False
    log_limit_hit: bool = False
    spawn_error: str = ""

    @property
    def ended_by(self) -> int | None:
        """The signal that ended it: told as such, or as the exit status a shell makes of it."""
        if self.signal is not None:
            return abs(self.signal)
        code = self.exit_code or 0
        if code < 0:
            return -code
        return code - 128 if 128 < code < 128 + 65 else None


NO_DIRECTORY: Final = "working directory"  # how it begins when a task names a directory that nothing can run in
_NOT_GIVEN: Final = r"is not set in the environment|cannot read the file of variables|the file of variables "
_MISSING: Final = r"(?i)ENOENT|no such file|not found|cannot find"
_FORBIDDEN: Final = r"(?i)EACCES|EPERM|permission denied|not permitted|exec format"

SIGKILL: Final = 9
CRASHES: Final = {4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 11: "SIGSEGV", 31: "SIGSYS"}
STOPS: Final = {1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 15: "SIGTERM"}

# Exit statuses that mean something by convention, used when the text names no cause (see sysexits.h).
_STATUSES: Final = {
    64: FactVerdict("exit.usage", "code_error", "config", 0.7, "Wrong usage (exit status 64)"),
    66: FactVerdict("exit.no_input", "dependency_missing", "file", 0.7, "Input is missing (exit status 66)"),
    69: FactVerdict("exit.unavailable", "transient", "service", 0.7, "A service is unavailable (exit status 69)"),
    75: FactVerdict("exit.tempfail", "transient", None, 0.8, "It asked to be tried again (exit status 75)"),
    77: FactVerdict("exit.noperm", "unknown", "permission", 0.7, "Not permitted (exit status 77)"),
    78: FactVerdict("exit.config", "code_error", "config", 0.7, "The configuration is wrong (exit status 78)"),
}

# Signals that say which limit of the process was reached.
_LIMITS: Final = {
    24: FactVerdict("fact.cpu_limit", "timeout", "limit", 0.95, "It exceeded its limit of processor time (SIGXCPU)"),
    14: FactVerdict("fact.alarm", "timeout", "limit", 0.9, "Its alarm clock ended it (SIGALRM)"),
    25: FactVerdict("fact.file_limit", "resource_exhaustion", "disk", 0.95, "A file grew beyond its limit (SIGXFSZ)"),
}

NO_COMMAND: Final = FactVerdict("fact.exit_127", "dependency_missing", "command", 0.97, "A command was not found")


def certain(facts: Facts) -> FactVerdict | None:
    """What the facts alone decide, whatever the text says."""
    if facts.timed_out:
        return FactVerdict("fact.timed_out", "timeout", "limit", 0.99, "It exceeded its time limit")
    if facts.stalled:
        return FactVerdict("fact.stalled", "timeout", "stalled", 0.99, "It made no progress for too long")
    if facts.memory_limit_hit:
        return FactVerdict("fact.memory_limit", "resource_exhaustion", "memory", 0.99, "It exceeded its memory limit")
    if facts.cpu_limit_hit:
        return FactVerdict("fact.cpu_limit", "timeout", "limit", 0.99, "It exceeded its limit of processor time")
    if facts.log_limit_hit:
        return FactVerdict(
            "fact.log_limit", "resource_exhaustion", "disk", 0.99, "It printed more than its log may hold"
        )
    if facts.spawn_error:
        return _not_started(facts.spawn_error)
    if facts.exit_code == 124:
        return FactVerdict("fact.exit_124", "timeout", "limit", 0.97, "It exceeded a time limit (exit status 124)")
    if facts.exit_code == 126:
        return FactVerdict("fact.exit_126", "unknown", "permission", 0.95, "The command may not be executed")
    return NO_COMMAND if facts.exit_code == 127 else None


def likely(facts: Facts) -> FactVerdict | None:
    """What the facts suggest when the text names no cause."""
    ended_by = facts.ended_by
    if ended_by == SIGKILL:
        return FactVerdict(
            "fact.killed", "resource_exhaustion", "memory", 0.9, "It was killed (SIGKILL), most likely for memory"
        )
    if ended_by in CRASHES:
        return FactVerdict("fact.crashed", "code_error", "crash", 0.95, f"It crashed ({CRASHES[ended_by]})")
    if ended_by in STOPS:
        return FactVerdict(
            "fact.stopped", "unknown", "interrupted", 0.9, f"It was stopped from outside ({STOPS[ended_by]})"
        )
    return _LIMITS.get(ended_by or 0) or _STATUSES.get(facts.exit_code or 0)


def _not_started(why: str) -> FactVerdict:
    if why.startswith(NO_DIRECTORY):
        return FactVerdict("fact.no_directory", "dependency_missing", "file", 0.97, f"Could not start: {why}")
    if compiled(_NOT_GIVEN).search(why):
        return FactVerdict("fact.spawn_config", "code_error", "config", 0.97, f"Could not start: {why}")
    if compiled(_MISSING).search(why):
        return FactVerdict("fact.spawn_missing", "dependency_missing", "command", 0.97, f"Could not start: {why}")
    if compiled(_FORBIDDEN).search(why):
        return FactVerdict("fact.spawn_forbidden", "unknown", "permission", 0.97, f"Could not start: {why}")
    return FactVerdict("fact.spawn_failed", "transient", "spawn", 0.95, f"Could not start: {why}")


TEXT_MAX: Final = 8_000

# Finer labels and the error types of operations, with the kind each one is.
NAMED: Final[dict[str, tuple[str, str | None]]] = {
    "auth": ("unknown", "auth"),
    "config_error": ("code_error", "config"),
    "conflict": ("unknown", "conflict"),
    "malformed_output": ("unknown", "malformed_output"),
    "no_evidence": ("unknown", "no_evidence"),
    "agent_spawn_failed": ("transient", "spawn"),
    "agent_timeout": ("timeout", "limit"),
    "precondition_failed": ("dependency_missing", "precondition"),
    "external_service_down": ("transient", "service"),
}


def said(result: Mapping[str, object] | None) -> FactVerdict | None:
    """The kind that the work named itself, if it is one we know."""
    for key in ("category", "error_type", "type"):
        kind = _kind(_text(result, key))
        if kind is not None:
            category, subcategory = kind
            named = _text(result, "subcategory") or subcategory
            return FactVerdict(
                "result.named", category, named, 0.97, _text(result, "summary") or _text(result, "message")
            )
    return None


def as_output(result: Mapping[str, object] | None) -> str:
    """The exception as a text to read after the output: its traceback, or its type and message."""
    parts = [_text(result, "summary"), _text(result, "traceback")]
    kind, message = _text(result, "type"), _text(result, "message")
    if not parts[1] and (kind or message):
        parts.append(f"{kind}: {message}" if kind else message)
    return "\n".join(part for part in parts if part)


def _kind(name: str) -> tuple[str, str | None] | None:
    category, _, subcategory = name.lower().partition("/")
    if category in CATEGORIES:
        return category, subcategory or None
    return NAMED.get(name.lower())


def _text(result: Mapping[str, object] | None, key: str) -> str:
    value = result.get(key) if result is not None else None
    return value[-TEXT_MAX:] if isinstance(value, str) else ""

"""How an attempt ended, as data. One door takes every variant: `core.rules.on_attempt_ended`.

`rescued` is not here: an evaluator gives it later to an attempt that failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from medbay.core.model import CheckResult
from medbay.core.redaction import MARK, Redaction, is_secret_name

HEAD_BYTES: Final = 4_096  # of a log that are kept
TAIL_BYTES: Final = 32_768  # a log that fits in here has no head

OUTCOME_WORDS: Final = (
    "succeeded",
    "rescued",
    "failed",
    "timed_out",
    "stalled",
    "lost",
    "cancelled",
    "over_budget",
    "requeued",
)


class Output(Struct, frozen=True, kw_only=True):
    """What an attempt left behind: the ends of its log, and what it said in its result file."""

    head: str = ""
    tail: str = ""
    total_bytes: int = 0
    lines_before: int | None = None  # of a log that does not fit into the tail: its lines before the tail, if known
    log_path: str = ""
    result: Mapping[str, Any] | None = None

    def text(self) -> str:
        """Head and tail as one text for the diagnosis, without repeating a short log."""
        if self.total_bytes <= TAIL_BYTES or not self.head:
            return self.tail
        return f"{self.head}\n[...]\n{self.tail}"


class Succeeded(Struct, frozen=True, kw_only=True):
    """Exit 0, or a result that says so."""

    output: Output = field(default_factory=Output)
    exit_code: int = 0


class Failed(Struct, frozen=True, kw_only=True):
    """The work ended badly, or could not be started (`spawn_error`)."""

    output: Output = field(default_factory=Output)
    exit_code: int | None = None
    signal: int | None = None
    memory_limit_hit: bool = False
    cpu_limit_hit: bool = False
    log_limit_hit: bool = False
    spawn_error: str = ""


class Checked(Struct, frozen=True, kw_only=True):
    """The work had succeeded, and now all of its checks have ended too; the gate says what that means."""

    results: tuple[CheckResult, ...]
    output: Output = field(default_factory=Output)  # the work's own was stored before its checks began
    exit_code: int = 0


class TimedOut(Struct, frozen=True, kw_only=True):
    """The runner enforced the task's time limit."""

    output: Output = field(default_factory=Output)
    limit_s: float
    silent_s: float | None = None  # for how long it had printed nothing; None where that is not known
    exit_code: int | None = None
    signal: int | None = None


class Stalled(Struct, frozen=True, kw_only=True):
    """No sign of progress for longer than the stall limit."""

    output: Output = field(default_factory=Output)
    silent_s: float


class Lost(Struct, frozen=True, kw_only=True):
    """The worker died or lost its lease; nothing is known of the work."""

    why: str
    hard_crash: bool = False
    output: Output = field(default_factory=Output)


class Cancelled(Struct, frozen=True, kw_only=True):
    """A person asked for it, and the process tree is gone."""

    output: Output = field(default_factory=Output)


class OverBudget(Struct, frozen=True, kw_only=True):
    """Tokens or money ran out while it ran."""

    why: str
    output: Output = field(default_factory=Output)


class Requeued(Struct, frozen=True, kw_only=True):
    """Not its own failure: exit 75 (`asked`), or handed back by a stopping worker."""

    asked: bool
    why: str
    retry_after: str | int | float | None = None
    output: Output = field(default_factory=Output)
    exit_code: int | None = None


Outcome = Succeeded | Checked | Failed | TimedOut | Stalled | Lost | Cancelled | OverBudget | Requeued


def outcome_word(outcome: Outcome) -> str:
    """The word an outcome is recorded under."""
    return _WORDS[type(outcome)]


def is_handed_back(outcome: Outcome) -> bool:
    """Whether a stopping worker gave it back, to be started again."""
    return isinstance(outcome, Requeued) and not outcome.asked


def redacted(outcome: Outcome, redaction: Redaction) -> Outcome:
    """The outcome without secrets: what is diagnosed, decided by and kept is this. Values of a success are its own."""
    output = outcome.output
    result = output.result
    if output.tail or output.head or result is not None:
        head, tail = redaction.ends(output.head, output.tail)
        if result is not None:
            result = {name: _entry_redacted(name, each, output, tail, redaction) for name, each in result.items()}
        if (head, tail, result) != (output.head, output.tail, output.result):  # most have no secret
            outcome = replace(outcome, output=replace(output, head=head, tail=tail, result=result))
    match outcome:
        case Failed(spawn_error=said) if said:
            return replace(outcome, spawn_error=redaction.text(said))
        case Requeued(why=why) | OverBudget(why=why):
            return replace(outcome, why=redaction.text(why))
        case Checked():
            return replace(outcome, results=tuple(_check_redacted(each, redaction) for each in outcome.results))
        case _:
            return outcome


def _entry_redacted(name: str, each: Any, output: Output, tail: str, redaction: Redaction) -> Any:
    """One entry of a result. The traceback of a call is often all that its log has, which is redacted already."""
    if name in _OWN:
        return each
    if not isinstance(each, str):
        return redaction.data(each)
    if is_secret_name(name):
        return MARK
    return tail if each == output.tail and not output.head else redaction.text(each)


def _check_redacted(each: CheckResult, redaction: Redaction) -> CheckResult:
    head, tail = redaction.ends(each.head, each.tail)
    return replace(each, head=head, tail=tail)


_OWN = frozenset({"value", "usage", "agent"})  # what a function returned is data, not a log; so is who worked
_WORDS = {
    Succeeded: "succeeded",
    Checked: "failed",  # where its gate passes it is `succeeded`, and said so
    Failed: "failed",
    TimedOut: "timed_out",
    Stalled: "stalled",
    Lost: "lost",
    Cancelled: "cancelled",
    OverBudget: "over_budget",
    Requeued: "requeued",
}

"""An attempt with its checks and its evaluation: what is said of them, and their JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from medbay.core.attempt import rescue
from medbay.core.attempt.checks import shown as command_line
from medbay.core.attempt.knowledge import Advice
from medbay.core.attempt.rescue import Evaluation
from medbay.core.budget import MILLION
from medbay.core.diagnosis.record import facts
from medbay.core.durations import format_duration
from medbay.core.model import Attempt, CheckResult, CheckStatus, Guidance, HistoryRow, Retry
from medbay.views import glyphs, moments, spending, work
from medbay.views.glyphs import Token

CHECK_LOOKS: Final[Mapping[CheckStatus, tuple[str, Token]]] = {
    "WAITING": (glyphs.READY, "idle"),
    "RUNNING": (glyphs.VERIFYING, "run"),
    "PASS": (glyphs.DONE, "done"),
    "FAIL": (glyphs.FAILED, "fail"),
    "ERROR": (glyphs.FAILED, "fail"),
    "TIMEOUT": (glyphs.WAITING, "fail"),
    "STOPPED": (glyphs.CANCELLED, "idle"),
}


def as_json(each: Attempt, checked: Sequence[CheckResult] = ()) -> dict[str, Any]:
    """Return one attempt as data, with the checks of its result."""
    return {
        "number": each.number,
        "started_at": moments.iso(each.started_at),
        "ended_at": moments.iso(each.ended_at),
        "duration_s": moments.seconds(each.ended_at - each.started_at) if each.ended_at is not None else None,
        "outcome": each.outcome,
        "exit_code": each.exit_code,
        "signal": each.signal,
        "charged": each.charged,
        "diagnosis": facts(each.diagnosis) if each.diagnosis is not None else None,
        "guidance": each.guidance or None,
        "worker": each.worker_id,
        "host": each.host,
        "pid": each.pid,
        "log_path": each.log_path,
        "forced": each.forced,
        "canary": each.canary,
        "iteration": each.iteration,
        "planned_at": moments.iso(each.planned_at),
        "policy": each.policy_hash or None,
        "agent": each.agent or None,
        "model": each.model or None,
        "session": each.session or None,
        "tool_calls": each.tool_calls,
        "tokens": each.tokens,
        "tokens_in": each.tokens_in,
        "tokens_out": each.tokens_out,
        "cost": None if each.cost is None else each.cost / MILLION,
        "checks": [check_as_json(one) for one in checked if one.position != rescue.POSITION],
        "evaluation": next((evaluation_as_json(one, each) for one in checked if one.position == rescue.POSITION), None),
    }


def check_as_json(each: CheckResult) -> dict[str, Any]:
    """Return one check of an attempt as data."""
    ran = each.started_at is not None and each.ended_at is not None
    return {
        "position": each.position,
        "command": work.words(each.command),
        "required": each.required,
        "status": each.status,
        "exit_code": each.exit_code,
        "signal": each.signal,
        "round": each.round,
        "started_at": moments.iso(each.started_at),
        "ended_at": moments.iso(each.ended_at),
        "duration_s": moments.seconds((each.ended_at or 0) - (each.started_at or 0)) if ran else None,
        "log_path": each.log_path or None,
    }


def evaluation_as_json(each: CheckResult, of: Attempt) -> dict[str, Any]:
    """Return the evaluation of a failed attempt as data."""
    said = rescue.score(Evaluation(results=(each,), threshold=1.0))
    left_out = ("position", "required")
    text = {name: value for name, value in check_as_json(each).items() if name not in left_out}
    return {**text, "score": said.value, "why": said.why, "rescued": of.outcome == "rescued"}


def guidance_as_json(each: Guidance, record: Advice) -> dict[str, Any]:
    """Return the advice of one attempt, and how that advice has done against the same failure."""
    return {
        "attempt": each.attempt,
        "advice": each.advice,
        "text": each.text,
        "fingerprint": each.fingerprint or None,
        "cured": each.cured,
        "record": {"given": record.given, "cured": record.cured} if record.given else None,
    }


def retry_as_json(each: Retry) -> dict[str, Any]:
    """Return one scheduled retry as data."""
    return {
        "attempt": each.attempt,
        "category": each.category,
        "action": each.action,
        "scheduled_at": moments.iso(each.scheduled_at),
        "due_at": moments.iso(each.due_at),
        "delay_s": each.delay_ms / 1000,
        "error": each.error,
        "guidance": each.guidance,
        "status": each.status,
        "executed_at": moments.iso(each.executed_at),
        "outcome": each.outcome,
        "policy": each.policy_hash,
        "learned": each.learned or None,
    }


def history_as_json(each: HistoryRow) -> dict[str, Any]:
    """Return one transition as data."""
    return {
        "from": each.source,
        "to": each.target,
        "actor": each.actor,
        "reason": each.reason,
        "context": each.context,
        "at": moments.iso(each.at),
    }


def ending(each: Attempt) -> str:
    """Return how it ended in the fewest words: `exit 1`, `time limit`, `signal 9`, `running`."""
    match each.outcome:
        case None:
            return "running"
        case "timed_out":
            return "time limit"
        case "failed" if each.signal is not None:
            return f"signal {each.signal}"
        case "failed" if each.exit_code is not None:
            return f"exit {each.exit_code}"
        case "failed" if each.session:  # an agent that ended with 0, and whose own record says otherwise
            asked = each.diagnosis is not None and each.diagnosis.subcategory == "asked"
            return "asked" if asked else "not done"
        case "failed":
            return "could not start"
        case word:
            return word.replace("_", " ")


def lasted(each: Attempt, now_ms: int) -> str:
    """Return how long it took, or has taken so far."""
    return format_duration((each.ended_at if each.ended_at is not None else now_ms) - each.started_at)


def why(each: Attempt) -> str:
    """Return what the diagnosis says, and whether the failure counts; empty for a success."""
    found = each.diagnosis
    if found is None:
        return ""
    return found.summary + ("" if each.charged else " (not counted)")


def why_and_used(each: Attempt) -> str:
    """Return why it failed, and which agent used how much."""
    used = spending.used(each.tokens, each.cost)
    spent = " ".join(part for part in (each.agent, used) if part) if used else ""
    return "  ".join(part for part in (why(each), spent) if part)


def checks(results: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the checks of the task; the evaluation of a failed attempt has words of its own."""
    return [each for each in results if each.position != rescue.POSITION]


def check_command(each: CheckResult) -> str:
    """Return the command of a check in one line."""
    return each.command if isinstance(each.command, str) else " ".join(each.command)


def check_ending(each: CheckResult) -> str:
    """Return how a check ended: `exit 1`, `signal 9`; empty while it has not."""
    if each.signal is not None:
        return f"signal {each.signal}"
    return "" if each.exit_code is None else f"exit {each.exit_code}"


def check_lasted(each: CheckResult, now_ms: int) -> str:
    """Return how long a check took, or has taken so far."""
    if each.started_at is None or (each.ended_at is None and each.status != "RUNNING"):
        return ""
    return format_duration(max(0, (each.ended_at or now_ms) - each.started_at))


def evaluation(results: Sequence[CheckResult]) -> CheckResult | None:
    """Return the evaluation of a failed attempt among its checks."""
    return next((each for each in results if each.position == rescue.POSITION), None)


def evaluation_sentence(attempt: Attempt, found: CheckResult, threshold: float) -> str:
    """Return what the evaluation of an attempt came to, in one sentence."""
    _, _, words, why = evaluated(attempt, found, threshold)
    return f"the evaluation of attempt {attempt.number}: {words}; {why}".rstrip("; ")


def evaluated(attempt: Attempt, found: CheckResult, threshold: float) -> tuple[str, Token, str, str]:
    """Return glyph, token, what an evaluation came to, and why."""
    if found.status in ("WAITING", "RUNNING") and attempt.outcome is None:
        return glyphs.VERIFYING, "run", "under way", command_line(found.command)
    said = rescue.score(Evaluation(results=(found,), threshold=threshold))
    if attempt.outcome == "rescued":
        return glyphs.DONE, "done", f"{said.value or 0:.2f}, rescued", said.why
    if said.value is None:
        return glyphs.FAILED, "fail", "no score, not rescued", said.why
    if said.value < threshold:
        return glyphs.FAILED, "fail", f"{said.value:.2f}, below the {threshold:g} that rescues", said.why
    return glyphs.FAILED, "fail", f"{said.value:.2f}, not rescued", said.why  # the threshold was another one then

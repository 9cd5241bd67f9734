"""What the parts of a run add up to: checks side by side, by one table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from medbay.core.policy import phases
from medbay.core.workflow.records import PhaseRun, RunPart, RunStatus
from medbay.core.workflow.workflow import Phase


class ReviewSum(Struct, frozen=True, kw_only=True):
    """PASS, FAIL, ERROR or TIMEOUT, why, and what a PASS warns about."""

    verdict: Literal["PASS", "FAIL", "ERROR", "TIMEOUT"]
    why: str
    warning: str = ""


def add_up(parts: Sequence[RunPart], threshold: float) -> ReviewSum:
    """The verdict of workers side by side, in this order: errors, too few answers, too few passes, a pass."""
    counted = [each for each in parts if each.status != "STOPPED"]
    passed, failed = _with(counted, "PASS"), _with(counted, "FAIL")
    late, broken = _with(counted, "TIMEOUT"), _with(counted, "ERROR")
    answered = len(passed) + len(failed)
    needed = [each.role for each in counted if each.status == "TIMEOUT" and each.required]
    if broken:
        return ReviewSum(verdict="ERROR", why=f"could not be checked: {_list(broken)}")
    if needed:
        return ReviewSum(verdict="ERROR", why=f"required, and timed out: {', '.join(needed)}")
    if answered * 2 < len(counted) or not answered:
        return ReviewSum(verdict="ERROR", why=f"only {answered} of {len(counted)} answered; timed out: {_list(late)}")
    if len(passed) / answered < threshold:
        return ReviewSum(verdict="FAIL", why=f"failed: {_list(failed)}")
    warnings = [f"{what}: {_list(each)}" for what, each in (("failed", failed), ("timed out", late)) if each]
    return ReviewSum(verdict="PASS", why=f"{len(passed)} of {len(counted)} passed", warning="; ".join(warnings))


def judged(phase: Phase, run: PhaseRun) -> PhaseRun:
    """The verdict of a run whose parts have all ended."""
    own = [each for each in run.parts if not each.phase]
    if all(each.status == "STOPPED" for each in own):
        return replace(run, status="CANCELLED", verdict="", summary="stopped")
    if phase.workers:
        total = add_up(own, run.rules.threshold)
        summary = f"{total.why}; {total.warning}" if total.warning else total.why
        error = next((each.error_type for each in own if each.error_type), "")
        return replace(run, status=total.verdict, verdict=total.verdict, summary=summary, error_type=error)
    (part,) = own
    status: RunStatus = part.status if part.status in ("PASS", "FAIL", "ERROR", "TIMEOUT") else "ERROR"
    word, error = part.verdict or status, part.error_type
    status = "FAIL" if error and status == "ERROR" else status  # the phase failed; nobody gave the verdict FAIL
    if status != "PASS" and not error and word not in phase.verdicts:  # it says itself that it failed
        error = phases.OTHER
    return replace(run, status=status, verdict=word, summary=part.summary, error_type=error, result=part.result)


def _with(parts: Sequence[RunPart], status: str) -> list[RunPart]:
    return [each for each in parts if each.status == status]


def _list(parts: Sequence[RunPart]) -> str:
    return ", ".join(each.role for each in parts)

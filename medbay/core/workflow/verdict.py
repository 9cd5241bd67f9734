"""What the parts of a run add up to: checks side by side, by one table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from medbay.core.workflow.records import Part


class Sum(Struct, frozen=True, kw_only=True):
    """PASS, FAIL, ERROR or TIMEOUT, why, and what a PASS warns about."""

    verdict: Literal["PASS", "FAIL", "ERROR", "TIMEOUT"]
    why: str
    warning: str = ""


def add_up(parts: Sequence[Part], threshold: float) -> Sum:
    """The verdict of workers side by side, in this order: errors, too few answers, too few passes, a pass."""
    counted = [each for each in parts if each.status != "STOPPED"]
    passed, failed = _with(counted, "PASS"), _with(counted, "FAIL")
    late, broken = _with(counted, "TIMEOUT"), _with(counted, "ERROR")
    answered = len(passed) + len(failed)
    needed = [each.role for each in counted if each.status == "TIMEOUT" and each.required]
    if broken:
        return Sum(verdict="ERROR", why=f"could not be checked: {_list(broken)}")
    if needed:
        return Sum(verdict="ERROR", why=f"required, and timed out: {', '.join(needed)}")
    if answered * 2 < len(counted) or not answered:
        return Sum(verdict="ERROR", why=f"only {answered} of {len(counted)} answered; timed out: {_list(late)}")
    if len(passed) / answered < threshold:
        return Sum(verdict="FAIL", why=f"failed: {_list(failed)}")
    warnings = [f"{what}: {_list(each)}" for what, each in (("failed", failed), ("timed out", late)) if each]
    return Sum(verdict="PASS", why=f"{len(passed)} of {len(counted)} passed", warning="; ".join(warnings))


def _with(parts: Sequence[Part], status: str) -> list[Part]:
    return [each for each in parts if each.status == status]


def _list(parts: Sequence[Part]) -> str:
    return ", ".join(each.role for each in parts)

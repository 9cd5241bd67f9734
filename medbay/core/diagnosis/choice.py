"""Which finding names the cause, where several compete: rules between rules, each a sentence a person can check."""

from __future__ import annotations

from typing import Final

from medbay.core.diagnosis.compiled import compiled
from medbay.core.diagnosis.findings import SETUP, Finding
from medbay.core.diagnosis.roles import WARNED
from medbay.core.diagnosis.rule import EXACT

# What a wrapper throws because its command failed.
_THROWN: Final = frozenset(
    {"trace.python", "trace.uncaught", "trace.caller", "error.named", "child.failed", "child.exception"}
)
_TESTS_RAN_AND_FAILED: Final = r"(?m)^\s*Tests:?\s{1,12}[1-9]\d{0,6} failed|^FAILED \S+::\S+"


def choose(findings: list[Finding], body: str) -> list[Finding]:
    """The findings with the deciding one first; what cannot be the cause is left out."""
    findings = _without_tests_that_never_ran(findings, body)
    return _cause_before_child(_refused_before_cut(_network_before_missing(findings)))


def _cause_before_child(findings: list[Finding]) -> list[Finding]:
    """That a command failed is no cause where the text shows one: what the command itself said decides."""
    if findings and findings[0].rule.id.startswith("child."):
        for finding in findings[1:]:
            if finding.score > 1.0 and finding.rule.id not in _THROWN:
                return [finding, *(other for other in findings if other is not finding)]
    return findings


def _refused_before_cut(findings: list[Finding]) -> list[Finding]:
    """A server that refuses the credentials closes the connection: what it refused decides."""
    if findings and findings[0].rule.id == "net.cut":
        for finding in findings[1:]:
            if finding.rule.subcategory == "auth" and finding.score > EXACT:
                return [finding, *(other for other in findings if other is not finding)]
    return findings


def _without_tests_that_never_ran(findings: list[Finding], body: str) -> list[Finding]:
    """A suite that could not start did not fail its tests: what kept it from starting decides."""
    others = [finding for finding in findings if finding.rule.id != SETUP]
    if len(others) == len(findings) or compiled(_TESTS_RAN_AND_FAILED).search(body):
        return others
    causes = [finding for finding in others if finding.rule.category != "test_failure"]
    return causes if causes and causes[0].score > 1.0 else others


def _network_before_missing(findings: list[Finding]) -> list[Finding]:
    """A package that "cannot be found" after the network failed was never looked for."""
    if not findings or findings[0].rule.id not in ("missing.package", "missing.loose", "missing.module"):
        return findings
    for finding in findings[1:]:
        if finding.rule.id.startswith("net.") and finding.rule.level >= EXACT and finding.score > EXACT + WARNED:
            return [finding, *(other for other in findings if other is not finding)]
    return findings

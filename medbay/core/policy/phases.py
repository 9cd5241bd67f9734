"""The preset `phase`: how often and after which wait each type of error of a phase is tried again."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from medbay.core.diagnosis.record import Diagnosis

PRESET: Final = "phase"
SERVICE_DOWN: Final = "EXTERNAL_SERVICE_DOWN"
TIMEOUT: Final = "AGENT_TIMEOUT"
OTHER: Final = "AGENT_FAILED"


class ErrorRow(Struct, frozen=True, kw_only=True):
    """One type of error: its kind by the diagnosis, how often it is tried again, and when."""

    name: str
    kind: str
    retries: int
    backoff: Literal["fixed", "exponential"] = "fixed"
    base_ms: int = 0
    cap_ms: int = 0

    def delay_ms(self, failures: int) -> int:
        """The exact wait after so many failures."""
        if self.backoff == "fixed":
            return self.base_ms
        return min(self.cap_ms, self.base_ms << min(failures - 1, 20))


ERRORS: Final = (
    ErrorRow(name="AGENT_SPAWN_FAILED", kind="transient/spawn", retries=1, base_ms=2_000),
    ErrorRow(name=TIMEOUT, kind="timeout/limit", retries=0),
    ErrorRow(name="MALFORMED_OUTPUT", kind="unknown/malformed_output", retries=2, base_ms=1_000),
    ErrorRow(name="PRECONDITION_FAILED", kind="dependency_missing/precondition", retries=0),
    ErrorRow(
        name=SERVICE_DOWN,
        kind="transient/service",
        retries=3,
        backoff="exponential",
        base_ms=5_000,
        cap_ms=60_000,
    ),
)
_BY_KIND: Final = {each.kind: each for each in ERRORS}
_OTHER: Final = ErrorRow(name=OTHER, kind="", retries=0)


def row_of(found: Diagnosis) -> ErrorRow:
    """The row of a failure; what no row knows is not tried again."""
    if found.category == "timeout":
        return _BY_KIND["timeout/limit"]
    return _BY_KIND.get(found.kind, _OTHER)


def is_known(found: Diagnosis) -> bool:
    """Whether the table has a row for it, which then stands over what other rules would do."""
    return row_of(found) is not _OTHER

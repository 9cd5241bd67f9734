"""The patients of the demo: real shell commands that fail in every way, and what has to become of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from medbay.core.attempt.guidance import DIFFERENT_APPROACH
from medbay.core.model import Attempt, Task

TOKEN: Final = "token"
RETRY_AFTER_MS: Final = 5_000

SETTINGS: Final = """\
# Waits of seconds instead of minutes, so that a demo can be watched.
[engine]
workers = 6
grace = "500ms"
[policy.ladder.transient]
delays = ["5s", "6s"]
[policy.ladder.test_failure]
delays = ["4s", "5s", "6s"]
[policy.ladder.code_error]
delays = ["4s", "6s"]
max_retries = 2
[policy.ladder.timeout]
delays = ["5s"]
[policy.ladder.resource_exhaustion]
delays = ["6s"]
[policy.ladder.unknown]
delays = ["3s"]
"""

Check = Callable[[Task, Sequence[Attempt]], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patient:
    """One command, what is wrong with it, and whether it ended as it should."""

    title: str
    ails: str
    script: str
    check: Check
    options: Mapping[str, Any] = field(default_factory=dict)
    after: str = ""  # the title of the one it comes after


def _healed(task: Task, attempts: Sequence[Attempt]) -> bool:
    return task.status == "completed" and len(attempts) > 1 and attempts[0].outcome != "succeeded"


def _healed_after(outcome: str) -> Check:
    return lambda task, attempts: _healed(task, attempts) and attempts[0].outcome == outcome


def _healed_of(kind: str) -> Check:
    def check(task: Task, attempts: Sequence[Attempt]) -> bool:
        found = attempts[0].diagnosis if attempts else None
        return _healed(task, attempts) and found is not None and found.kind.startswith(kind)

    return check


def _waited_as_asked(task: Task, attempts: Sequence[Attempt]) -> bool:
    if not _healed(task, attempts):
        return False
    return attempts[1].started_at - (attempts[0].ended_at or 0) >= RETRY_AFTER_MS


def _healed_by_advice(task: Task, attempts: Sequence[Attempt]) -> bool:
    return _healed(task, attempts) and DIFFERENT_APPROACH[:20] in attempts[-1].guidance


def _completed_at_once(task: Task, attempts: Sequence[Attempt]) -> bool:
    return task.status == "completed" and len(attempts) == 1


def _blocked(kind: str) -> Check:
    return lambda task, attempts: task.status == "blocked" and task.block_kind == kind


PUSH: Final = f"sleep 2; [ -e {TOKEN} ] || {{ echo 'HTTP/1.1 401 Unauthorized: token expired'; exit 1; }}; echo pushed"

FLEET: Final = (
    Patient(
        title="pull rates",
        ails="flaky network",
        script="sleep 1; [ $MEDBAY_ATTEMPT -gt 2 ] || { echo 'connect ECONNREFUSED 203.0.113.7:443'; exit 7; }",
        check=_healed_of("transient/network"),
    ),
    Patient(
        title="sync tickets",
        ails="rate limit, says when",
        script="sleep 1; [ $MEDBAY_ATTEMPT -gt 1 ] || { echo 'HTTP 429 Too Many Requests, Retry-After: 5'; exit 1; }",
        check=_waited_as_asked,
    ),
    Patient(
        title="unit tests",
        ails="same test, until advice",
        script=(
            'case "$MEDBAY_GUIDANCE" in *"different approach"*) sleep 1; echo 41 passed; exit 0;; esac; sleep 1;'
            " echo 'FAILED tests/test_rates.py::test_rounding - AssertionError: assert 0.1 == 0.2'; exit 1"
        ),
        check=_healed_by_advice,
    ),
    Patient(
        title="render report",
        ails="hangs",
        script="echo page 1; [ $MEDBAY_ATTEMPT -gt 1 ] || sleep 1000; sleep 1; echo page 2",
        options={"timeout": "4s"},
        check=_healed_after("timed_out"),
    ),
    Patient(
        title="build index",
        ails="eats memory",
        script=(
            "sleep 1; [ $MEDBAY_ATTEMPT -gt 1 ] && { echo smaller batches; exit 0; };"
            " head -c 300000000 /dev/zero | tail -c 290000000 | wc -c; sleep 1; exit 1"
        ),
        options={"memory": "100M"},
        check=_healed_of("resource_exhaustion"),
    ),
    Patient(
        title="resize images",
        ails="crashes",
        script="sleep 2; [ $MEDBAY_ATTEMPT -gt 1 ] || { ulimit -c 0; kill -SEGV $$; }; echo 12 images",
        check=_healed,
    ),
    Patient(
        title="backup",
        ails="busy, asks for later",
        script="sleep 1; [ $MEDBAY_ATTEMPT -gt 1 ] || { echo 'another backup runs. Retry-After: 8'; exit 75; }",
        check=_healed_after("requeued"),
    ),
    Patient(
        title="publish rates",
        ails="comes after another",
        script="sleep 1; echo published",
        after="pull rates",
        check=_completed_at_once,
    ),
    Patient(
        title="push to eu",
        ails="token expired",
        script=PUSH,
        check=_healed_of("unknown/auth"),
    ),
    Patient(
        title="push to us",
        ails="the same token",
        script=PUSH,
        check=_healed_of("unknown/auth"),
    ),
    Patient(
        title="deploy docs",
        ails="missing command",
        script="sleep 1; exec deploy-docs-to-production",
        check=_blocked("human"),
    ),
    Patient(
        title="compile app",
        ails="broken for good",
        script="sleep 1; echo \"src/app.ts(45,12): error TS2304: Cannot find name 'fo0'.\"; exit 2",
        check=_blocked("human"),
    ),
)

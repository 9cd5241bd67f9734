"""The agent that is always there: what it says of which failure, and that its verdicts are within its rights."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from medbay.core.attempt.guidance import DIFFERENT_APPROACH
from medbay.core.attempt.knowledge import Advice, Known
from medbay.core.diagnosis.record import CATEGORIES, Diagnosis, Location, Pattern
from medbay.core.holds import incident
from medbay.core.model import Attempt, Guidance, Task
from medbay.core.redaction import redact
from medbay.core.triage.case import Means
from medbay.core.triage.context import Looked, Outage, ShownFailure, make
from medbay.core.triage.incident import start
from medbay.core.triage.reading import read
from medbay.core.triage.rights import outside
from medbay.core.triage.rules_agent import judge
from medbay.core.triage.verdict import Verdict
from tests.core.builders import DAY, HOUR, MINUTE, diagnosis, free, hopeless
from tests.core.triage.cases import agents, case, repeating, told_before, triage_of
from tests.core.triage.cases import waiting as plain
from tests.properties import examples


def waiting(**given: Any) -> Task:
    """A command that takes advice."""
    return plain(**{"command": 'fix "$MEDBAY_GUIDANCE"', **given})


def looks(task: Task, *found: Diagnosis | None, tail: str = "last words", **given: Any) -> dict[str, Any]:
    """What it says of a task whose failures were diagnosed like this, the newest last."""
    failures = tuple(
        ShownFailure(
            attempt=Attempt(task_id=task.id, number=number, worker_id="w", host="h", outcome="failed", diagnosis=each),
            tail=tail,
        )
        for number, each in enumerate(found, start=1)
    )
    looked = Looked(task=task, triage=triage_of(task), failures=failures, **given)
    return judge(json.loads(json.dumps(make(looked, redact))))


def same(of: Diagnosis) -> tuple[Diagnosis, ...]:
    """Three times the same."""
    return (of, of, of)


@pytest.mark.parametrize("category", ["code_error", "test_failure"])
def test_code_that_fails_its_specification_has_it_reviewed(category: str) -> None:
    """With where it fails, and how often."""
    found = diagnosis(category=category, location=Location("ledger.py", 45))
    said = looks(agents(), *same(found))

    assert said["verdict"] == "SPEC_REFRESH"
    assert "3 attempts" in said["unclear"]
    assert "at ledger.py:45" in said["unclear"]
    assert "cannot find name foo" in said["unclear"]
    assert (said["root_cause"], said["evidence"], said["confidence"]) == ("cannot find name foo", ["error TS2304"], 0.9)


def test_a_review_is_asked_for_once() -> None:
    """The same failure after it: another way."""
    said = {"word": "SPEC_REFRESH"}
    earlier = triage_of(agents(), verdict=said, fingerprint="code_error:a1b2c3d4")

    assert looks(agents(), *same(diagnosis()), earlier=(earlier,))["verdict"] == "ADJUST"


def test_otherwise_a_completely_different_approach_is_advised() -> None:
    """With the advice of the diagnosis; an agent begins anew."""
    said = looks(waiting(), *same(diagnosis()))
    assert said["verdict"] == "ADJUST"
    assert said["adjust"]["guidance"] == f"{DIFFERENT_APPROACH} Look first at this: define foo"
    assert "fresh_session" not in said["adjust"]

    assert looks(agents(spec=""), *same(diagnosis()))["adjust"]["fresh_session"] is True


def test_the_advice_with_the_best_record_comes_first() -> None:
    """What helped elsewhere, what did not help here."""
    known = Known(
        fingerprint="f",
        category="code_error",
        advice=(Advice("define foo", 5, 4), Advice("never helped", 9, 0), Advice("import foo", 6, 5)),
    )
    guidance = (told_before("define foo"), told_before(DIFFERENT_APPROACH))
    said = looks(waiting(guidance=guidance), *same(diagnosis()), known=known)

    assert said["adjust"]["guidance"] == (
        f"{DIFFERENT_APPROACH} What helped against this before: import foo (worked 5 of 6 times)"
        " Did not help: define foo"
    )


def test_when_everything_was_said_a_person_is_asked() -> None:
    """The same advice again would change nothing."""
    first = looks(waiting(), *same(diagnosis(suggested_fix="")))
    guidance = Guidance(3, first["adjust"]["guidance"], "", "f", False)
    said = looks(waiting(guidance=(guidance,)), *same(diagnosis(suggested_fix="")))

    assert said["verdict"] == "ESCALATE"
    assert said["look_at"] == "the output of the last attempts"


def test_what_ran_out_of_its_time_gets_more() -> None:
    """Twice as much, within the limits."""
    slow = diagnosis(category="timeout", subcategory="limit", fingerprint="timeout:1")
    said = looks(waiting(timeout_ms=HOUR), diagnosis(), *same(slow))

    assert (said["verdict"], said["adjust"]["timeout"]) == ("ADJUST", 7_200)
    assert "3 of 4" in said["why"]
    assert "timeout" not in looks(waiting(), *same(slow))["adjust"]


def test_a_time_limit_that_cannot_grow_stays() -> None:
    """Below the least there is nothing to double."""
    slow = diagnosis(category="timeout", subcategory="limit")
    context = {
        "task": {"id": "t-1", "attempt": 3, "timeout_s": 5, "recurs": False, "spec": "", "consecutive_failures": 3},
        "failures": [{"diagnosis": {"category": slow.category}}],
        "verdicts": {"ADJUST": {"limits": {"timeout_s": [1, 5]}}},
    }

    assert "timeout" not in judge(context)["adjust"]


def test_the_same_failure_every_time_that_cannot_be_retried_is_a_persons() -> None:
    """With what to look at."""
    said = looks(waiting(), *same(hopeless(confidence=0.6)))

    assert (said["verdict"], said["look_at"]) == ("ESCALATE", "renew the credentials")
    assert looks(waiting(), diagnosis(), hopeless(), diagnosis(), hopeless())["verdict"] == "ADJUST"
    assert looks(waiting(), *same(hopeless(suggested_fix="")))["look_at"] == ""


def test_a_recurring_task_is_left_alone_when_it_passes_or_changes() -> None:
    """Its backoff goes on anyway."""
    assert looks(repeating(), *same(free()))["verdict"] == "NOOP"
    differ = looks(repeating(), diagnosis(fingerprint="a"), diagnosis(fingerprint="b"), diagnosis(fingerprint="c"))
    assert (differ["verdict"], "different ways" in differ["why"]) == ("NOOP", True)
    assert looks(repeating(command="./fix.sh"), *same(diagnosis()))["verdict"] == "ADJUST"
    assert looks(waiting(), *same(free()))["verdict"] == "ADJUST"


def test_what_is_used_up_is_given_time() -> None:
    """A disk is not free again at once."""
    full = diagnosis(category="resource_exhaustion", subcategory="disk")

    assert looks(waiting(), *same(full))["adjust"]["retry_delay"] == "1h"


def test_without_a_diagnosis_the_output_speaks() -> None:
    """The last lines are the evidence, and nothing is sure."""
    said = looks(waiting(), None, tail="a\nb\n\nc\nd\n")

    assert (said["verdict"], said["evidence"], said["confidence"]) == ("ADJUST", ["c", "d"], 0.0)
    assert said["root_cause"] == "nothing is known of why it failed"
    assert looks(waiting())["evidence"] == []


def test_a_place_without_a_line_is_named_as_well() -> None:
    """The file alone."""
    said = looks(agents(), *same(diagnosis(location=Location("ledger.py"))))

    assert "at ledger.py:" in said["unclear"]
    assert " at " not in looks(agents(), *same(diagnosis()))["unclear"].partition(":")[0]


def test_it_is_less_sure_where_failures_differ() -> None:
    """Half of them the same: half as sure."""
    assert looks(waiting(), free(), diagnosis())["confidence"] == 0.45


def test_what_may_not_be_adjusted_is_a_persons() -> None:
    """It gives no verdict that is not offered."""
    context = {
        "task": {"id": "t-1", "attempt": 3, "timeout_s": 5, "recurs": False, "spec": "x", "consecutive_failures": 3},
        "failures": [{"diagnosis": {"category": "timeout"}}],
        "verdicts": {},
    }

    assert judge(context)["verdict"] == "ESCALATE"


_FOUND = st.builds(
    diagnosis,
    category=st.sampled_from(CATEGORIES),
    subcategory=st.sampled_from([None, "limit", "malformed_output", "auth"]),
    confidence=st.floats(0, 1),
    fingerprint=st.sampled_from("ab"),
    summary=st.text(max_size=40),
    suggested_fix=st.text(max_size=40),
    retryable=st.booleans(),
    pattern=st.builds(Pattern, st.just("r"), st.text(max_size=60)),
)


@examples(200)
@given(
    found=st.lists(_FOUND | st.none(), max_size=5),
    of=st.sampled_from([waiting, repeating, agents]),
    spec=st.sampled_from(["", "- it adds"]),
    timeout=st.sampled_from([None, 1, MINUTE, DAY]),
    told=st.lists(st.sampled_from(["define foo", DIFFERENT_APPROACH, "x"]), max_size=5),
)
def test_what_it_says_is_always_readable_and_within_its_rights(
    found: list[Diagnosis | None], of: Any, spec: str, timeout: int | None, told: list[str]
) -> None:
    """Whatever it looks at."""
    task = of(spec=spec, timeout_ms=timeout, guidance=tuple(told_before(each) for each in told))
    verdict = read(json.dumps(looks(task, *found)))

    assert isinstance(verdict, Verdict)
    assert outside(verdict, case(task, diagnosis=found[-1] if found else None)) is None


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (diagnosis(category="transient", subcategory="network"), "NOOP"),
        (diagnosis(category="dependency_missing"), "RECOMMEND_CONFIG"),
        (diagnosis(category="resource_exhaustion", suggested_fix="", summary=""), "ESCALATE"),
    ],
)
def test_of_an_incident_it_says_what_changes_no_task(found: Diagnosis, verdict: str) -> None:
    """What passes is left to the canaries; anything else is somebody's to change."""
    opened, _ = incident.opened(found, ("t-1", "t-2"), 1_000)
    task = waiting(last_fingerprint=found.fingerprint)
    _, triage = start(opened, task, 2_000, means=Means(), last_seq=0)
    outage = Outage(incident=opened, tasks=("t-1", "t-2"), held=1, now=31_000)
    said = looks(task, found, outage=outage)

    assert said["verdict"] == verdict
    answer = read(json.dumps(said))
    assert isinstance(answer, Verdict)
    assert outside(answer, case(task, triage=replace(triage, number=task.attempts))) is None


def test_a_plain_command_is_never_run_again_without_a_change() -> None:
    """Advice changes nothing for `make`: a person is asked; what is used up is given time."""
    assert looks(plain(command="make -j4"), *same(diagnosis()))["verdict"] == "ESCALATE"
    full = diagnosis(category="resource_exhaustion", subcategory="disk")
    said = looks(plain(command="make -j4"), *same(full))
    assert (said["verdict"], said["adjust"]["retry_delay"]) == ("ADJUST", "1h")
    assert looks(plain(command="./fix.sh"), *same(diagnosis()))["verdict"] == "ADJUST"


@pytest.mark.parametrize(("advice", "verdict"), [("takes", "ADJUST"), ("none", "ESCALATE")])
def test_what_a_task_says_of_advice_is_believed(advice: str, verdict: str) -> None:
    """Whatever its command looks like."""
    assert looks(plain(advice=advice, command="make"), *same(diagnosis()))["verdict"] == verdict


def test_the_schedule_of_a_recurring_task_goes_on_where_nothing_is_left_to_try() -> None:
    """It asks by itself when nothing but failures come."""
    assert looks(repeating(advice="none", command="make"), *same(diagnosis()))["verdict"] == "NOOP"

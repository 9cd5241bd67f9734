"""How risky a specification is: by what became of earlier tasks with such sentences, and nothing else."""

from __future__ import annotations

from medbay.core.model import Question
from medbay.core.people.assessment import Assessment, PastWork, assess, on_assessed
from tests.core.builders import NOW, task

VAGUE = "Make the parser handle all odd dates. Keep the tests green."


def past(task_id: str, text: str, **of: object) -> PastWork:
    """An earlier task; it ended well unless it is said otherwise."""
    made = {"status": "completed", "attempts": 1, "category": "", **of}
    return PastWork(task_id, text, **made)  # type: ignore[arg-type]


FAILED = past("t-7", VAGUE, status="blocked", attempts=6, category="test_failure/assertion")


def test_the_sentence_that_failed_before_is_the_risk() -> None:
    """With how many, of which kind, and which was the last."""
    text = "Rename the module first. Make the parser handle odd dates!"

    found = assess(text, [FAILED, past("t-6", VAGUE, attempts=4, category="code_error/type")])

    assert (found.sentence, found.score, found.risky) == ("Make the parser handle odd dates", 0.67, True)
    assert "2 of 2 earlier tasks" in found.why
    assert "test_failure/assertion, code_error/type" in found.why
    assert "t-7" in found.why


def test_what_went_well_before_is_no_risk() -> None:
    """Nor what failed by an outage, what nobody tried, or what is too short to say anything."""
    outage = past("t-1", VAGUE, status="blocked", attempts=9, category="transient/network")

    assert assess(VAGUE, [past("t-1", VAGUE), outage]) == Assessment(0.0)
    assert assess("Paint the fence blue today.", [FAILED]).score == 0.0
    assert assess("", [FAILED]) == Assessment(0.0)
    assert assess(VAGUE, [FAILED, past("t-2", VAGUE), past("t-3", VAGUE)]).risky is False


def test_a_risky_one_waits_for_a_person_where_that_is_asked_for() -> None:
    """Before its first attempt; else the risk is only recorded."""
    found = Assessment(0.67, "Handle all odd dates", "2 of 2 failed")
    new = task(spec=VAGUE)

    asked = on_assessed(new, NOW, found, asks=True)
    warned = on_assessed(new, NOW, found, asks=False)
    harmless = on_assessed(new, NOW, Assessment(0.1), asks=True)
    later = on_assessed(task(spec=VAGUE, attempts=1), NOW, found, asks=True)

    question = asked.first(Question)
    assert question is not None and "Handle all odd dates" in question.why
    assert asked.changes[0].after.status == "blocked"
    assert asked.events[0].name == "task:assessed"
    for only in (warned, harmless, later):
        assert only.writes == ()
        assert [event.name for event in only.events] == ["task:assessed"]

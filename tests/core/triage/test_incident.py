"""The one triage of an incident: when it starts, with whom as an example, and what its end means."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from medbay.core.attempt.ending import Ended, on_attempt_ended
from medbay.core.decision import Added, Decision, Draft, QuestionEnriched, QuestionSent, Rewired, WorkingSet
from medbay.core.holds import breaker, incident
from medbay.core.holds.breaker import Breaker, BreakerChange
from medbay.core.holds.resources import incident_key
from medbay.core.model import Attempt, Owner, Question, Triage
from medbay.core.outcome import Failed, Outcome, Output, OverBudget, Succeeded
from medbay.core.owners import cancelled, succeeded
from medbay.core.policy.policy import Policy
from medbay.core.policy.presets import Recurring
from medbay.core.triage import cycle, rights
from medbay.core.triage.case import Means, TriageCase
from medbay.core.triage.effects import Judged
from medbay.core.triage.ending import LookedAt, abandoned, settle
from medbay.core.triage.incident import (
    IncidentSurroundings,
    decide,
    example_of,
    fell_through,
    in_words,
    judge,
    passed_over,
    start,
    wants_one,
)
from medbay.core.triage.verdict import Unreadable, Verdict
from tests.core.builders import HOUR, MINUTE, NOW, diagnosis, only, running
from tests.core.builders import told as told_event
from tests.core.triage.cases import IDS, case, says, triage_of, waiting

DOWN = diagnosis(category="transient", subcategory="network", fingerprint="transient:a1b2c3d4")
OPEN, ASKED = incident.opened(DOWN, ("t-1", "t-2", "t-3", "t-4", "t-5"), NOW - MINUTE)
EXAMPLE = waiting(last_fingerprint=DOWN.fingerprint, waits_for=None, due_at=NOW + HOUR)
OPTED_OUT = replace(EXAMPLE, tags=("no-recurring-triage",))
AGENCY = Breaker(key="agency", kind="agency", state="open", version=3)


def names(of: Decision) -> list[str]:
    """Every event, in order."""
    return [each.name for each in of.events]


def told(of: Decision, name: str) -> Any:
    """What the one event of this name about the example says."""
    return told_event(of, name).data


def started(open_now: Breaker = OPEN) -> tuple[TriageCase, Breaker]:
    """The case of a triage that runs, and the incident that knows it."""
    made, looked = start(open_now, EXAMPLE, NOW, means=Means(), last_seq=7)
    asked = ASKED if open_now.question_id is not None else None
    return case(EXAMPLE, triage=looked, question=asked, new_ids=IDS), made.all(BreakerChange)[0].after


def judged(answer: Verdict | Unreadable, open_now: Breaker = OPEN, **given: Any) -> Judged:
    """What follows from an answer while the incident is open."""
    of, known = started(open_now)
    return judge(replace(of, **given), answer, NOW, holding(known))


def holding(*known: Breaker) -> WorkingSet:
    """What is open."""
    return WorkingSet(breakers={each.key: each for each in known})


def test_an_open_incident_wants_one_triage() -> None:
    """Until somebody has decided; nothing else does."""
    _, known = started()

    assert wants_one(OPEN)
    assert not wants_one(known)
    assert not wants_one(replace(OPEN, state="closed"))
    assert not wants_one(AGENCY)


@pytest.mark.parametrize(
    ("around", "what"),
    [
        (IncidentSurroundings(examples=(OPTED_OUT, EXAMPLE)), "start"),
        (IncidentSurroundings(examples=(EXAMPLE,), running=".triage-t-1-1"), "wait"),
        (
            IncidentSurroundings(
                examples=(EXAMPLE,), last=triage_of(EXAMPLE, started_at=NOW - HOUR), cooldown_ms=2 * HOUR
            ),
            "drop",
        ),
        (
            IncidentSurroundings(examples=(EXAMPLE,), last=triage_of(EXAMPLE, started_at=NOW - HOUR), cooldown_ms=HOUR),
            "start",
        ),
        (IncidentSurroundings(examples=(OPTED_OUT,)), "drop"),
        (IncidentSurroundings(), "drop"),
        (IncidentSurroundings(examples=(OPTED_OUT,), elsewhere=True), "wait"),
        (IncidentSurroundings(examples=(EXAMPLE,), agency=AGENCY), "held_back"),
        (IncidentSurroundings(examples=(EXAMPLE,), agency=replace(AGENCY, state="half_open")), "start"),
    ],
)
def test_it_starts_when_nothing_speaks_against_it(around: IncidentSurroundings, what: str) -> None:
    """One per fingerprint at a time and per cooldown, with an example that allows it, while agents may be asked."""
    assert decide(NOW, around).what == what


def test_the_example_is_one_that_wants_to_be_looked_at() -> None:
    """Never a triage."""
    assert example_of((OPTED_OUT, replace(EXAMPLE, role="triage"), EXAMPLE)) is EXAMPLE
    assert example_of((OPTED_OUT,)) is None


def test_starting_it_changes_the_incident_and_no_task() -> None:
    """A task runs it, named after the incident; the example is only told."""
    made, looked = start(OPEN, EXAMPLE, NOW, means=Means(), last_seq=7, queue="mine")

    assert made.changes == ()
    assert looked.id == f".triage-incident-a1b2c3d4-{OPEN.opened_at:x}"
    (added,) = made.all(Added)
    own = added.change.after
    assert (own.id, own.role, own.owner, own.queue) == (looked.id, "triage", Owner("incident", OPEN.key), "mine")
    assert (looked.task_id, looked.incident) == (EXAMPLE.id, OPEN.key)
    assert own.title == f"Triage of {OPEN.key}"
    assert made.all(BreakerChange)[0].after.data["triage"] == looked.id
    assert names(made) == ["triage:started", "task:created"]
    assert told(made, "triage:started")["incident"] == OPEN.key


def test_what_came_of_it_is_told_in_words() -> None:
    """Nothing, none, running, over."""
    of, known = started()
    over = replace(of.triage, ended_at=NOW, action="config_recommended", detail="raise it")
    (without,) = passed_over(OPEN, "its tasks want no triage").all(BreakerChange)

    assert in_words(OPEN, None) == ""
    assert in_words(without.after, None) == "no triage: its tasks want no triage"
    assert in_words(known, of.triage) == f"{of.triage.id} examines it"
    assert in_words(known, over) == "triage: config recommended: raise it"


@pytest.mark.parametrize(
    ("verdict", "detail"),
    [
        (says("NOOP"), "because of foo"),
        (says("NOOP", why=""), "foo is missing"),
        (says("NOOP", why="", root_cause=""), "triage would change nothing"),
    ],
)
def test_noop_leaves_the_canaries_as_they_are(verdict: Verdict, detail: str) -> None:
    """Only the record says that somebody looked."""
    found = judged(verdict)

    assert (found.action, found.detail) == ("no_action", detail)
    assert not (found.decision.all(BreakerChange) or found.decision.changes or found.decision.all(QuestionEnriched))
    assert found.decision.all(Triage)[0].verdict is not None
    assert names(found.decision) == ["triage:verdict"]


def test_a_recommendation_stands_in_the_question_that_is_open() -> None:
    """Nobody is called a second time for it."""
    found = judged(says("RECOMMEND_CONFIG"))

    more = only(found.decision, QuestionEnriched).question
    assert (found.action, more.id) == ("config_recommended", ASKED.id)
    assert more.need == f"{OPEN.why}. raise the limit of the database"
    assert more.why.startswith(ASKED.why) and "triage recommends" in more.why
    assert more.evidence.split("\n")[0] == "error TS2304: foo"
    assert names(found.decision) == ["triage:verdict"]


def test_an_escalation_sends_it_again() -> None:
    """With what a person should look at."""
    found = judged(says("ESCALATE", look_at="the disk"))

    assert found.action == "escalated_to_human"
    assert "the disk" in found.decision.all(QuestionEnriched)[0].question.need
    assert [each.question_id for each in found.decision.all(QuestionSent)] == [ASKED.id]
    assert names(found.decision) == ["triage:verdict", "question:asked"]


@pytest.mark.parametrize(
    ("given", "why"), [({"why": ""}, "foo is missing"), ({"why": "", "root_cause": ""}, "triage asks for a person")]
)
def test_a_question_that_was_answered_is_asked_anew(given: dict[str, str], why: str) -> None:
    """The incident has one open question, whatever was said before."""
    found = judged(says("ESCALATE", **given), replace(OPEN, question_id=None))

    (asked,) = found.decision.all(Question)
    assert isinstance(asked, Question)
    assert (asked.why, asked.task_ids, asked.id == ASKED.id) == (why, (), False)
    assert found.decision.all(BreakerChange)[0].after.question_id == asked.id
    assert found.decision.work.breakers[OPEN.key].question_id == asked.id
    assert found.decision.all(QuestionSent) == ()


@pytest.mark.parametrize(
    ("given", "why"),
    [({}, "because of foo"), ({"why": ""}, "foo is missing"), ({"why": "", "root_cause": ""}, "triage paused it")],
)
def test_a_pause_waits_for_an_answer(given: dict[str, str], why: str) -> None:
    """No canary is due any more."""
    found = judged(says("PAUSE", **given))

    after = found.decision.all(BreakerChange)[0].after
    assert (found.detail, after.paused, after.probe_at, after.only_a_person_ends) == (why, True, None, True)
    assert after.ends == f"until {ASKED.id} is answered"
    assert "stopped the canaries" in found.decision.all(QuestionEnriched)[0].question.why


def test_a_fix_is_filed_beside_the_tasks() -> None:
    """None of them waits for it by itself."""
    found = judged(says("FILE_FIX"))

    (added,) = found.decision.all(Added)
    fix = added.change.after
    assert (fix.role, fix.owner, fix.title) == ("fix", Owner("incident", OPEN.key), "repair the ledger")
    assert OPEN.key in fix.description and "Root cause: foo is missing" in fix.description
    assert "Root cause" not in judged(says("FILE_FIX", root_cause="")).decision.all(Added)[0].change.after.description
    assert found.decision.all(BreakerChange)[0].after.data["fix"] == fix.id
    assert not found.decision.changes and not found.decision.all(Rewired)
    assert len(found.decision.all(Question)) == 1  # it is a person's


@pytest.mark.parametrize("word", ["ADJUST", "SPLIT", "SPEC_REFRESH"])
def test_what_would_change_a_task_is_refused(word: str) -> None:
    """Recorded, and said in the question."""
    found = judged(says(word))

    assert found.action == "refused"
    assert not found.decision.changes and not found.decision.all(Added)
    assert "no verdict changes them all" in found.decision.all(QuestionEnriched)[0].question.why
    assert told(found.decision, "triage:refused")["verdict"] == word
    assert word not in rights.ON_INCIDENTS


def test_a_verdict_may_name_the_incident_or_its_example() -> None:
    """Nobody else."""
    of, _ = started()

    for name in ("", EXAMPLE.id, incident_key(DOWN.fingerprint)):
        assert rights.outside(says("NOOP", task_id=name), of) is None
    assert rights.outside(says("NOOP", task_id="t-9"), of) is not None


def test_rubbish_is_said_in_the_question_while_that_is_open() -> None:
    """Whoever answered it knows already."""
    found = judged(Unreadable("no verdict in it"))
    answered = judged(Unreadable("no verdict in it"), replace(OPEN, question_id=None))

    assert found.action == answered.action == "verdict_unreadable"
    assert "no verdict in it" in found.decision.all(QuestionEnriched)[0].question.why
    assert not answered.decision.all(Question) and not answered.decision.all(QuestionEnriched)
    assert names(found.decision) == names(answered.decision) == ["triage:failed"]


@pytest.mark.parametrize("answer", [says("PAUSE"), Unreadable("no verdict")])
@pytest.mark.parametrize("again", [False, True])
def test_after_the_incident_a_verdict_is_stale(answer: Verdict | Unreadable, again: bool) -> None:
    """Also when another one on the same failure has opened since."""
    of, _ = started()
    found = judge(of, answer, NOW, holding(*((OPEN,) if again else ())))

    assert found.action == found.decision.all(Triage)[0].action == "stale"
    assert not found.decision.all(BreakerChange) and not found.decision.all(QuestionEnriched)
    assert told(found.decision, "triage:verdict")["applied"] is False


def test_a_triage_that_fails_after_the_incident_is_only_recorded() -> None:
    """There is no question left to say it in."""
    of, _ = started()
    found = fell_through(of, "lost", "triage_failed", NOW, WorkingSet())

    assert (found.action, names(found.decision)) == ("triage_failed", ["triage:failed"])
    assert found.decision.all(QuestionEnriched) == ()


@pytest.mark.parametrize(
    ("outcome", "action"),
    [
        (Succeeded(output=Output(result={"answer": '{"verdict": "PAUSE", "why": "harm"}'})), "paused"),
        (OverBudget(why="used 10 tokens of 5"), "triage_failed"),
        (Succeeded(output=Output(result={"answer": "rubbish"})), "verdict_unreadable"),
        (Failed(exit_code=1), "triage_failed"),
    ],
)
def test_its_end_is_settled_like_that_of_any_triage(outcome: Outcome, action: str) -> None:
    """The task that ran it ends, the agency breaker counts, and the next rule sees the incident as it is now."""
    of, known = started()
    own = Draft(running(id=of.triage.id, runner="triage", role="triage", live=None), NOW, actor="worker:w-1")
    made = settle(LookedAt(case=of), outcome, own, holding(known))

    assert made.all(Triage)[0].action == action
    assert own.task.finished
    assert made.work.breakers[known.key].paused is (action == "paused")
    assert ("agency" in made.work.counted) is (action != "paused")


def test_one_that_is_cancelled_before_it_runs_is_said_in_the_question() -> None:
    """As any that came to nothing."""
    of, known = started()
    made = abandoned(LookedAt(case=of), NOW, holding(known))

    assert made.all(Triage)[0].action == "triage_failed"
    assert "cancelled" in made.all(QuestionEnriched)[0].question.why


@pytest.mark.parametrize(
    ("state", "until", "probe_at"),
    [("open", None, NOW), ("open", NOW + HOUR, NOW + HOUR), ("half_open", None, OPEN.probe_at)],
)
def test_a_fix_that_is_done_sends_a_canary(state: Any, until: int | None, probe_at: int | None) -> None:
    """At once, never before a time that was named, and not beside one that is out."""
    known = replace(OPEN, state=state, until=until)
    fix = Draft(replace(EXAMPLE, id="f-1", role="fix", owner_kind="incident", owner_id=known.key), NOW, actor="w-1")

    made = succeeded(fix, known)

    assert (made.all(BreakerChange)[0].after if made.all(BreakerChange) else known).probe_at == probe_at
    assert made.changes == ()
    assert succeeded(fix, None).writes == ()
    assert cancelled(fix, known, ()).writes == ()


def test_while_it_is_paused_nothing_sends_a_canary() -> None:
    """Not one that met it, not one that is gone, not a fix; an answer does, or lets them go on."""
    out = breaker.wait_for_answer(breaker.send_canary(OPEN, "t-1", NOW))
    paused = breaker.wait_for_answer(OPEN)

    assert out.probe_at is not None  # the one on its way is looked after
    assert breaker.canary_met_it(out, NOW, named=None, why="again").probe_at is None
    assert breaker.canary_gone(out, NOW).probe_at is None
    assert breaker.probe_soon(paused, NOW) is paused
    assert not breaker.close(paused, NOW).paused
    now, later = (breaker.answered(paused, NOW, at_once=each) for each in (True, False))
    assert (now.probe_at, now.paused, now.question_id) == (NOW, False, None)
    assert later.probe_at is not None and later.probe_at > NOW
    assert breaker.answered(out, NOW, at_once=True).probe_at == out.probe_at
    assert breaker.answered(OPEN, NOW, at_once=False).probe_at == OPEN.probe_at


def test_the_end_of_a_fix_by_an_agent_is_seen_by_the_next_rule() -> None:
    """Within one transaction."""
    known = replace(OPEN, version=3)
    fix = running(id="f-1", role="fix", owner_kind="incident", owner_id=known.key, runner="agent:fixer")
    ended = Ended(
        task=fix,
        attempt=Attempt(task_id="f-1", number=1, worker_id="w-1", host="h-1", started_at=NOW - MINUTE),
        outcome=Succeeded(),
        policy=Policy(),
        owner=known,
    )

    made = on_attempt_ended(ended, NOW, holding(known))

    assert made.all(BreakerChange)[0].after.probe_at == NOW
    assert (made.work.breakers[known.key].probe_at, made.work.breakers[known.key].version) == (NOW, 4)


def test_an_ordinary_triage_that_is_cancelled_leaves_its_task_to_a_person() -> None:
    """Beside those of incidents."""
    made = abandoned(LookedAt(case=case()), NOW, WorkingSet())

    assert made.changes[0].after.block_kind == "human"


def test_a_look_at_many_is_none_of_the_two_looks_at_one() -> None:
    """The example was only shown."""
    of, _ = started()
    own = triage_of(EXAMPLE)

    def what(*earlier: Triage) -> str:
        task = replace(EXAMPLE, triaged_at=None, waits_for="triage")
        return cycle.decide(task, Recurring(), NOW, cycle.StartSurroundings(earlier=earlier)).what

    assert what(own, own) == "to_a_person"
    assert what(own, of.triage) == "start"

"""What an agent is shown: everything it needs, bounded whatever is in it, without secrets and control characters."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from medbay.core.attempt.knowledge import Advice, Known, Teaching
from medbay.core.diagnosis.record import Location, Pattern, RunnerUp
from medbay.core.holds import breaker, incident
from medbay.core.model import Attempt, Check, Guidance, Triage
from medbay.core.redaction import redact
from medbay.core.triage.case import Means
from medbay.core.triage.context import CONTEXT_MAX, Looked, Outage, ShownFailure, make
from medbay.core.triage.verdict import WORDS
from tests.core.builders import NOW, diagnosis, hopeless
from tests.core.triage.cases import SPEC, agents, repeating, told_before, triage_of, waiting, with_agents
from tests.properties import examples

KNOWN = Known(
    fingerprint="code_error:a1b2c3d4",
    category="code_error",
    summary="cannot find name foo",
    count=9,
    tasks=4,
    first_seen=NOW - 1000,
    last_seen=NOW,
    taught=Teaching("test_failure", None, "ada", NOW),
    advice=(Advice("define foo", 3, 0), Advice("import foo", 5, 4)),
)


def attempt(number: int, **given: Any) -> Attempt:
    """A failed attempt."""
    values: dict[str, Any] = {"outcome": "failed", "exit_code": 3, "diagnosis": diagnosis(), "ended_at": NOW}
    return Attempt(task_id="t-1", number=number, worker_id="w-1", host="h-1", **(values | given))


def shown(looked: Looked) -> dict[str, Any]:
    """The context as an agent reads it."""
    found = json.loads(json.dumps(make(looked, redact)))
    assert isinstance(found, dict)
    return found


def test_it_is_complete() -> None:
    """The task, its failures, what was tried and logged and is known, earlier triages, the transcript, the verdicts."""
    task = agents(
        description="do it",
        guidance=(told_before("define foo"),),
        env=(("API_TOKEN", "s3cret-value-1"),),
        checks=(Check(("make", "test")),),
        tags=("x",),
        timeout_ms=60_000,
    )
    failures = tuple(
        ShownFailure(attempt=attempt(number, guidance="told"), tail=f"output {number}") for number in (1, 2, 3)
    )
    earlier = Triage(
        id=".triage-t-1-0",
        task_id="t-1",
        number=2,
        fingerprint="f",
        agent="rules",
        started_at=NOW,
        action="adjusted",
        detail="guidance",
        verdict={"word": "ADJUST", "root_cause": "rust"},
        diff={"guidance": ["", "x"]},
    )
    found = shown(
        Looked(
            task=task,
            triage=triage_of(task),
            failures=failures,
            known=KNOWN,
            earlier=(earlier,),
            log=("engine: t-1 failed",),
            transcript="I will try foo",
            means=with_agents(),
        )
    )

    assert (found["task"]["id"], found["task"]["attempt"], found["triage"]) == ("t-1", 3, ".triage-t-1-1")
    assert (found["task"]["spec"], found["task"]["env"], found["task"]["timeout_s"]) == (SPEC, ["API_TOKEN"], 60)
    assert (found["task"]["checks"], found["task"]["consecutive_failures"]) == (["make test"], 3)
    assert [each["tail"] for each in found["failures"]] == ["output 1", "output 2", "output 3"]
    newest = found["failures"][-1]
    assert (newest["outcome"], newest["exit_code"], newest["guidance"]) == ("failed", 3, "told")
    assert newest["diagnosis"]["summary"] == "cannot find name foo"
    assert newest["diagnosis"]["excerpt"] == "error TS2304"
    assert found["guidance"] == [{"attempt": 3, "advice": "define foo", "cured": False}]
    assert found["engine_log"] == ["engine: t-1 failed"]
    assert (found["known"]["kind"], found["known"]["taught_by"], found["known"]["seen"]) == ("test_failure", "ada", 9)
    assert [each["text"] for each in found["known"]["advice"]] == ["import foo", "define foo"]
    (said,) = found["earlier_triages"]
    assert (said["verdict"], said["action"], said["root_cause"], said["changed"]) == (
        "ADJUST",
        "adjusted",
        "rust",
        ["guidance"],
    )
    assert found["transcript"] == "I will try foo"
    assert set(found["verdicts"]) == set(WORDS)
    assert found["verdicts"]["ADJUST"]["limits"]["model"] == ["small", "large"]
    assert found["verdicts"]["ADJUST"]["limits"]["timeout_s"] == [15, 240]
    assert "verdict" in found["answer"]


def test_a_recurring_command_is_shown_with_its_schedule() -> None:
    """And without what only an agent has."""
    for task, said in ((repeating(), "every 3600s"), (waiting(cron="* * * * *", command="make | tee x"), "* * * * *")):
        found = shown(Looked(task=task, triage=triage_of(task)))

        assert (found["task"]["schedule"], found["task"]["recurs"]) == (said, True)
        assert set(found["verdicts"]["ADJUST"]["limits"]) == {"guidance", "timeout_s", "retry_delay_s"}
        assert (found["known"], found["failures"], found["earlier_triages"]) == (None, [], [])


def test_a_triage_is_offered_no_verdict() -> None:
    """There is none it may give."""
    task = waiting(role="triage")

    assert shown(Looked(task=task, triage=triage_of(task)))["verdicts"] == {}


def test_no_secret_leaves() -> None:
    """Wherever it stands: redacted before it is cut, and not hidden by control characters."""
    secret = "ghp_" + "a1B2" * 9
    hidden = secret[:10] + "\x1b[31m" + secret[10:]
    task = agents(
        description=f"use {secret}",
        spec=f"token={secret}",
        command=f"curl -H 'Authorization: Bearer {secret}'",
        guidance=(told_before(f"try {secret}"),),
        last_summary=secret,
    )
    found = diagnosis(pattern=Pattern("r", f"password={secret}"), summary=secret, suggested_fix=secret)
    looked = Looked(
        task=task,
        triage=triage_of(task),
        failures=(ShownFailure(attempt=attempt(3, diagnosis=found, guidance=secret), tail="x " * 4_990 + hidden),),
        known=Known(fingerprint="f", category="unknown", summary=secret, advice=(Advice(secret),)),
        earlier=(triage_of(task, detail=secret, verdict={"root_cause": secret}),),
        log=(f"engine: {secret}",),
        transcript=hidden,
    )

    written = json.dumps(make(looked, redact))

    assert secret not in written
    assert "a1B2a1B2" not in written
    assert "[redacted]" in written


def test_no_control_character_is_shown() -> None:
    """Colours go, the rest becomes a space; lines stay lines."""
    tail = "\x1b[1;31mred\x1b[0m\x00 \x1b]0;title\x07ok\r\n\u202enext\ud800"
    task = waiting()
    found = make(
        Looked(task=task, triage=triage_of(task), failures=(ShownFailure(attempt=attempt(3), tail=tail),)), redact
    )
    said = found["failures"][0]["tail"]

    assert said.split("\n")[0].split() == ["red", "ok"]
    assert "next" in said.split("\n")[1]
    assert said.replace("\n", "").isprintable()
    json.dumps(found, ensure_ascii=False).encode()


def test_what_is_long_is_cut_where_it_matters_least() -> None:
    """Of an output the beginning, of a specification the end; the newest failure is shown longest."""
    task = agents(spec="S" * 50_000, description="d" * 50_000)
    failures = tuple(ShownFailure(attempt=attempt(n), tail="x" * 90_000 + f"end {n}") for n in range(1, 9))
    found = make(Looked(task=task, triage=triage_of(task), failures=failures), redact)

    assert [each["attempt"] for each in found["failures"]] == [4, 5, 6, 7, 8]
    assert all(each["tail"].endswith(f"end {each['attempt']}") for each in found["failures"])
    assert len(found["failures"][-1]["tail"]) > 4 * len(found["failures"][0]["tail"])
    assert found["task"]["spec"].startswith("SSS")
    assert found["task"]["spec"].endswith("…")


def biggest(filler: str) -> Looked:
    """Everything there may be, as long as it may be."""
    much = filler * 100_000
    name = filler * 3_000
    found = hopeless(
        category=name,
        subcategory=name,
        pattern=Pattern(name, much),
        location=Location(name, 10**9, 10**9),
        fingerprint=name,
        summary=much,
        suggested_fix=much,
        provider=name,
        retry_after_ms=NOW,
        runners_up=(RunnerUp(name, name, name, 0.123456789),) * 9,
    )
    task = agents(
        id=name,
        title=name,
        runner="agent:" + name,
        command=(name,) * 50,
        cwd=name,
        env=((name, name),) * 90,
        description=much,
        spec=much,
        checks=(Check(name),) * 50,
        queue=name,
        tags=(name,) * 90,
        cron=name,
        model=name,
        guidance=(Guidance(3, name, much, name, False),) * 9,
    )
    ended = attempt(10**9, diagnosis=found, guidance=much, outcome="over_budget", exit_code=10**9, signal=10**9)
    return Looked(
        task=task,
        triage=triage_of(task),
        failures=(ShownFailure(attempt=ended, tail=much),) * 9,
        known=Known(
            fingerprint=name,
            category=name,
            subcategory=name,
            summary=much,
            excerpt=much,
            count=10**12,
            tasks=10**12,
            taught=Teaching(name, name, name, NOW),
            advice=(Advice(much, 10**9, 10**8),) * 99,
        ),
        earlier=(
            triage_of(
                task,
                action=name,
                detail=much,
                verdict={"word": name, "root_cause": much},
                diff={f"{name}{n}": [1, 2] for n in range(99)},
            ),
        )
        * 9,
        log=(much,) * 90,
        transcript=much,
        means=Means(models=(name,) * 90, profiles=(name,) * 90),
    )


def test_it_is_never_longer_than_its_limit() -> None:
    """Whatever it is made of, and however it is written."""
    for filler in ("x", '"', "\\", "\n", "é", "\U0001f600", "\x00", " "):
        context = make(biggest(filler), lambda text: text)

        assert len(json.dumps(context)) <= CONTEXT_MAX
        assert len(json.dumps(context, ensure_ascii=False).encode()) <= CONTEXT_MAX


@examples(100)
@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_can_be_shown(tail: str, spec: str) -> None:
    """No output and no specification makes it fail."""
    task = agents(spec=spec, title=tail)
    found = make(
        Looked(task=task, triage=triage_of(task), failures=(ShownFailure(attempt=attempt(3), tail=tail),)), redact
    )

    assert len(json.dumps(found)) <= CONTEXT_MAX


def test_a_secret_in_a_long_command_is_recognised_before_the_command_is_cut() -> None:
    """Half of one would not be."""
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    looked = Looked(task=waiting(command=f"echo {'x' * 40} {secret} {'y' * 2_000}"), triage=triage_of(waiting()))

    assert secret[:12] not in json.dumps(make(looked, redact))


def test_of_an_incident_it_shows_what_many_have_in_common() -> None:
    """How many, since when, how the canaries went, and only the verdicts that change no task."""
    found = diagnosis(category="transient", pattern=Pattern("test.rule", "password=hunter22 refused\n" * 900))
    many = tuple(f"t-{number}" for number in range(500))
    opened, _ = incident.opened(found, many, NOW)
    task = waiting()
    looked = Looked(task=task, triage=triage_of(task))
    out = breaker.canary_met_it(breaker.send_canary(opened, "t-3", NOW), NOW, named=None, why=opened.why)
    first, later = (
        shown(replace(looked, outage=Outage(incident=each, tasks=many, held=480, now=NOW + 90_000)))
        for each in (breaker.send_canary(opened, "t-3", NOW), out)
    )

    assert shown(looked)["incident"] is None
    assert (first["incident"]["canary"], first["incident"]["next_canary_at"]) == ("t-3", None)
    assert (later["incident"]["canaries_failed"], later["incident"]["open_for_s"]) == (1, 90)
    assert later["incident"]["next_canary_at"] is not None
    assert (later["incident"]["held"], len(later["incident"]["tasks"])) == (480, 12)
    assert set(later["verdicts"]) == {"NOOP", "FILE_FIX", "PAUSE", "RECOMMEND_CONFIG", "ESCALATE"}
    assert "hunter22" not in json.dumps(later)
    assert len(json.dumps(later)) <= CONTEXT_MAX

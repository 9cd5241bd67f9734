"""Triage of the issues of Beads through the command line; tests carry the numbers of the list they come from."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.trackers.conftest import Workspace

OLD = "2026-01-01T00:00:00Z"


def failed(attempt: int = 1, at: str = OLD, error: str = "SdkCallError", summary: str = "timeout") -> str:
    """The notes of an issue that failed."""
    return f"ADWS_FAILED|attempt={attempt}|last_failure={at}|error_class={error}|step=implement|summary={summary}"


def now() -> str:
    """A failure of this moment."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def only(found: dict[str, Any]) -> dict[str, Any]:
    """The one result of a cycle."""
    (result,) = found["results"]
    assert isinstance(result, dict)
    return result


def test_6_1_only_failed_issues_are_found(space: Workspace) -> None:
    """Neither what waits for a person nor what never failed; oldest failure first (6.9)."""
    late = space.create("late", failed(at="2026-02-01T14:00:00Z"))
    early = space.create("early", failed(at="2026-02-01T12:00:00Z"))
    space.create("person's", "needs_human|reason=unresolvable")
    space.create("fine", "words of a person")

    found = space.triage()

    assert [each["issue_id"] for each in found["results"]] == [early, late]
    assert found["tier1_cleared"] == found["issues_found"] == 2


def test_6_3_and_11_9_no_failed_issue_is_an_empty_cycle(space: Workspace) -> None:
    """All zeros and no error."""
    space.create("fine")

    found = space.triage()

    assert (found["issues_found"], found["errors"], found["results"]) == (0, [], [])


def test_6_5_and_11_3_a_tracker_that_cannot_be_listed_is_the_one_error(space: Workspace) -> None:
    """The cycle answers zero items, and exits with 1."""
    space.fault("list * exit 1")

    found = space.triage(code=1)

    assert found["issues_found"] == 0
    assert len(found["errors"]) == 1
    assert "dolt: connection refused" in found["errors"][0]


def test_7_1_and_16_1_tier_1_is_cleared_when_its_cooldown_is_over(space: Workspace) -> None:
    """Only our line goes."""
    issue = space.create("login", f"a person's note\n{failed()}\nmore of it")

    result = only(space.triage())

    assert (result["tier"], result["action"]) == (1, "cleared_for_retry")
    assert space.notes(issue) == "a person's note\nmore of it"


def test_7_3_and_16_3_a_cooldown_that_is_not_over_is_waited_for(space: Workspace) -> None:
    """Nothing is written, and the time is named."""
    notes = failed(at=now())
    issue = space.create("login", notes)
    before = len(space.calls("update"))

    found = space.triage()

    assert found["tier1_pending"] == 1
    assert only(found)["action"] == "cooldown_pending"
    assert "eligible at" in only(found)["detail"]
    assert (space.notes(issue), len(space.calls("update"))) == (notes, before)


def test_7_5_a_clear_that_fails_is_tried_again_and_then_a_persons(space: Workspace) -> None:
    """Three times in the next cycles; each is an error of that issue alone."""
    issue = space.create("login", failed())
    space.fault(f"update {issue} exit 1")

    for _ in range(3):
        found = space.triage()
        assert (only(found)["action"], found["triage_errors"], len(found["errors"])) == ("clear_failed", 1, 1)
    space.fault()

    assert only(space.triage())["action"] == "escalated_to_human"
    assert space.notes(issue).startswith("needs_human|reason=")


@pytest.mark.parametrize(
    "verdict",
    [
        "ACTION: adjust_parameters|DETAIL: Simplified test scope",
        json.dumps({"verdict": "ADJUST", "adjust": {"guidance": "Simplified test scope"}, "root_cause": "x"}),
    ],
    ids=["text", "json"],
)
def test_8_1_and_16_5_an_adjustment_clears_the_record(space: Workspace, verdict: str) -> None:
    """The advice reaches the next attempt, which goes on counting."""
    issue = space.create("login", failed(3, error="TestFailureError"))
    space.says(verdict)

    found = space.triage()

    assert (found["tier2_adjusted"], only(found)["action"]) == (1, "adjusted")
    assert space.notes(issue) == ""
    assert "Simplified test scope" in (space.folder / "context.json").read_text(encoding="utf-8") or space.asked() == 1
    assert space.dispatch()["failed"] == 1
    assert "attempt=4" in space.notes(issue)


def test_8_3_and_16_7_a_split_makes_issues_that_carry_the_tag_and_run(space: Workspace) -> None:
    """The original is closed with their ids; they are dispatched one after the other."""
    issue = space.create("login", failed(3))
    space.says("ACTION: split|DETAIL: Split into subtask A and subtask B")

    found = space.triage()

    closed = space.issue(issue)
    made = [each for each in json.loads(space.bd("list", "--json", "--limit", "0")) if each["id"] != issue]
    ids = closed["close_reason"].removeprefix("Split into sub-issues: ").split(", ")
    assert (found["tier2_split"], only(found)["detail"]) == (1, closed["close_reason"])
    assert (closed["status"], sorted(ids)) == ("closed", sorted(each["id"] for each in made))
    assert all(each["labels"] == ["implement_close"] for each in made)
    (space.folder / "ok").touch()
    assert space.dispatch()["closed"] == 2
    assert [line.split()[0] for line in (space.folder / "worked").read_text(encoding="utf-8").splitlines()] == ids


@pytest.mark.parametrize(
    ("verdict", "row"),
    [
        ("ACTION: escalate|DETAIL: Cannot determine fix automatically", "8.5, 10.7"),
        ("no directive at all", "8.9, 10.9"),
        ("", "8.7, 10.9"),
    ],
)
def test_8_5_to_10_9_what_triage_cannot_help_with_is_a_persons_in_the_same_cycle(
    space: Workspace, verdict: str, row: str
) -> None:
    """An escalation, an answer that cannot be read, an agent that says nothing."""
    issue = space.create("login", failed(3))
    space.says(verdict)

    found = space.triage()

    assert space.notes(issue).startswith("needs_human|reason="), row
    assert only(found)["tier"] == 3
    assert space.triage()["issues_found"] == 0
    assert [
        each["task"]["title"] if "task" in each else each["tasks"] for each in space.cli.good("inbox", "--json").json
    ]


def test_8_11_a_split_that_cannot_be_made_is_finished_by_the_next_cycle(space: Workspace) -> None:
    """No part is made twice and none is lost."""
    issue = space.create("login", failed(3))
    space.says("ACTION: split|DETAIL: Split into subtask A and subtask B")
    space.fault("create * exit 1")

    assert only(space.triage())["action"] == "split_failed"
    assert space.issue(issue)["status"] == "open"
    space.fault()
    space.triage()

    assert space.issue(issue)["status"] == "closed"
    assert len(json.loads(space.bd("list", "--json", "--all", "--limit", "0"))) == 3


def test_9_1_and_16_9_an_unknown_class_is_a_persons_at_once(space: Workspace) -> None:
    """Marked in the notes, asked in the inbox, and left alone by triage and dispatch from then on."""
    issue = space.create("login", f"mine\n{failed(error='unknown', summary='who knows')}")

    found = space.triage()

    assert (found["tier3_escalated"], only(found)["action"]) == (1, "escalated_to_human")
    assert space.notes(issue) == "mine\nneeds_human|reason=no rule knows why it failed: who knows"
    assert len(space.cli.good("inbox", "--json").json) == 1
    assert space.triage()["issues_found"] == 0
    assert space.dispatch()["skipped"]["needs_human"] == 1


def test_9_3_an_escalation_that_fails_is_said_and_comes_again(space: Workspace) -> None:
    """The rest of the cycle goes on."""
    issue = space.create("login", failed(error="unknown"))
    other = space.create("other", failed())
    space.fault(f"update {issue} exit 1")

    found = space.triage()

    assert {each["issue_id"]: each["action"] for each in found["results"]} == {
        issue: "escalation_failed",
        other: "cleared_for_retry",
    }
    space.fault()
    assert space.notes(issue).startswith("ADWS_FAILED")
    space.triage()
    assert space.notes(issue).startswith("needs_human")


def test_11_7_and_16_11_a_mixed_cycle_counts_each(space: Workspace) -> None:
    """Four issues, four ways, each by itself."""
    space.create("cleared", failed())
    space.create("pending", failed(at=now()))
    space.create("adjusted", failed(3))
    space.create("escalated", failed(error="unknown"))
    space.says("ACTION: adjust_parameters|DETAIL: other words")

    found = space.triage()

    wanted = ("tier1_cleared", "tier1_pending", "tier2_adjusted", "tier3_escalated")
    assert [found[name] for name in wanted] == [1, 1, 1, 1]


def test_12_a_loop_never_sleeps_after_its_last_cycle(space: Workspace) -> None:
    """12.1 and 12.3: `--max-cycles` ends it; the summary (13.1) is on stderr with every count, errors as one (13.3)."""
    space.fault("list * exit 1")

    called = space.cli("triage", "--loop", "--every", "1h", "--max-cycles", "1", "--source", "beads")

    assert called.code == 1
    assert "issues_found 0" in called.err
    assert called.err.rstrip().endswith("errors 1")


def test_14_1_triage_is_a_workflow_that_no_tag_starts(space: Workspace) -> None:
    """It is listed, and not among those that may be dispatched (14.3)."""
    issue = space.create("recursive", "", "triage")

    every = [each["name"] for each in space.cli.good("workflow", "list", "--json").json]
    may = [each["name"] for each in space.cli.good("workflow", "list", "--dispatchable", "--json").json]

    assert "triage" in every
    assert may == ["implement_close", "implement_verify_close"]
    assert space.dispatch()["skipped"]["untagged"] == 1
    assert space.issue(issue)["status"] == "open"


def test_15_and_16_13_the_cycle_opens_no_file_of_the_project(space: Workspace) -> None:
    """It knows what bd says, and nothing else: a file of the project that cannot be read changes nothing."""
    (space.folder / "story.md").mkdir()
    space.create("login", failed())

    assert space.triage()["tier1_cleared"] == 1
    assert {words[0] for words in space.calls("list") + space.calls("show") + space.calls("update")} <= {
        "list",
        "show",
        "update",
    }


def test_an_unreadable_record_is_escalated_quoting_it(space: Workspace) -> None:
    """Counted as unreadable; never guessed, never dispatched."""
    issue = space.create("odd", "ADWS_FAILED|attempt=many|last_failure=x")

    found = space.triage()

    assert (found["unreadable"], only(found)["action"]) == (1, "escalated_to_human")
    assert "attempt=many" in space.notes(issue)
    assert space.notes(issue).startswith("needs_human|reason=")


def test_a_dry_run_changes_nothing(space: Workspace) -> None:
    """It says what it would do to each."""
    issues = [space.create("a", failed()), space.create("b", failed(3)), space.create("c", failed(error="unknown"))]
    before = [space.notes(each) for each in issues]

    found = space.triage("--dry-run")

    assert [each["tier"] for each in found["results"]] == [1, 2, 3]
    assert [space.notes(each) for each in issues] == before
    assert space.asked() == 0


def test_no_op_waits_for_eight_hours_and_is_then_cleared(space: Workspace) -> None:
    """A triage that would change nothing is not asked again meanwhile."""
    issue = space.create("login", failed(3, at=now()))
    space.says(json.dumps({"verdict": "RECOMMEND_CONFIG", "suggestion": "a bigger pool", "root_cause": "pool"}))

    assert space.triage()["tier2_recommended"] == 1
    assert space.triage()["tier1_pending"] == 1
    space.age(issue)

    assert only(space.triage())["action"] == "cleared_for_retry"
    assert (space.asked(), space.notes(issue)) == (1, "")


@pytest.mark.parametrize("hostile", ["--help", "; rm -rf /", "a\nb", " ", ""])
def test_no_hostile_id_reaches_a_tracker(space: Workspace, hostile: str) -> None:
    """It is refused before anything runs."""
    from medbay.errors import UsageError
    from medbay.integrations.trackers import beads

    tracker = beads.open_tracker("", space.folder)
    before = len(space.calls("show"))

    for call in (tracker.read, lambda it: tracker.set_notes(it, "x"), lambda it: tracker.close(it, "x"), tracker.pause):
        with pytest.raises(UsageError):
            call(hostile)

    assert len(space.calls("show")) == before


@pytest.mark.parametrize(
    ("fault", "kind"),
    [("show * exit 1", "failed"), ("show * garbage", "unreadable"), ("show * hang 30", "timeout")],
)
def test_what_goes_wrong_is_typed_and_says_what_was_run(space: Workspace, fault: str, kind: str) -> None:
    """A failing call, no JSON, no answer in time."""
    from medbay.integrations.trackers import beads
    from medbay.integrations.trackers.protocol import TrackerError

    issue = space.create("login")
    space.fault(fault)
    tracker = beads.open_tracker("", space.folder, timeout_s=1.0)

    with pytest.raises(TrackerError) as raised:
        tracker.read(issue)

    assert raised.value.kind == kind
    assert f"bd show {issue}" in str(raised.value)


def test_no_workspace_is_said_with_what_to_do(space: Workspace, tmp_path_factory: pytest.TempPathFactory) -> None:
    """And so is a missing bd."""
    from medbay.integrations.trackers import beads
    from medbay.integrations.trackers.protocol import TrackerError

    with pytest.raises(TrackerError, match="bd init makes one"):
        beads.open_tracker("", tmp_path_factory.mktemp("empty"))


def test_many_issues_some_of_them_broken(space: Workspace) -> None:
    """The rest is handled, counts add up, oldest first; what cannot be read is escalated."""
    for number in range(12):
        space.create(f"issue {number}", failed(at=f"2026-01-{number + 1:02d}T00:00:00Z"))
    for number in range(3):
        space.create(f"odd {number}", "ADWS_FAILED|attempt=x")
    broken = space.create("broken", failed(at="2025-12-01T00:00:00Z"))
    space.fault(f"update {broken} exit 1")

    found = space.triage()

    assert (found["issues_found"], found["tier1_cleared"], found["unreadable"], found["triage_errors"]) == (
        16,
        12,
        3,
        1,
    )
    assert len(found["errors"]) == 1


def test_4_7_and_12_5_a_loop_goes_on_after_a_cycle_that_could_not_run(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a bd to call, and after an error that nobody expected: each is one cycle with that one error."""
    from medbay.areas.trackers import Trackers

    issue = space.create("login", failed())
    path, real, calls = os.environ["PATH"], Trackers.triage, []
    monkeypatch.setenv("PATH", "/nowhere")

    missing = space.triage(code=1)
    assert "bd is not on the PATH" in missing["errors"][0]
    monkeypatch.setenv("PATH", path)

    def breaks_once(self: Trackers, *words: Any, **more: Any) -> Any:
        calls.append(words)
        if len(calls) == 1:
            raise ZeroDivisionError("nobody expected this")
        return real(self, *words, **more)

    monkeypatch.setattr(Trackers, "triage", breaks_once)
    looped = space.cli("triage", "--loop", "--every", "10ms", "--max-cycles", "2", "--source", "beads", "--json")

    assert (looped.code, len(calls)) == (0, 2)
    assert "the cycle ended early: nobody expected this" in looped.out
    assert space.notes(issue) == ""


def test_13_5_what_is_still_refused_stands_beside_the_rows(space: Workspace) -> None:
    """On a terminal too, where the errors of items stand in their rows."""
    issue = space.create("login")
    space.dispatch()
    space.bd("update", issue, "--notes=")
    space.cli.good("block", space.cli.good("list", "--json").json[0]["id"], "--reason", "wait", "--kind", "human")
    space.fault(f"update {issue} exit 1")

    shown = space.cli.screen("triage", "--once", "--source", "beads", columns=200)

    assert f"{issue}: bd update {issue} --notes" in shown.out
    assert "errors 1" in shown.out

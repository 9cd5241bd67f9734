"""Profiles of agents: their commands, who never got to work, and no identical retries."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from medbay.core import agent, rules
from medbay.core.agent import Profile, filled, find, never_got_to_work, session_to_resume, with_role
from medbay.core.attempt import prompt
from medbay.core.decision import Change, Decision, Transition
from medbay.core.holds.breaker import Breaker, BreakerChange
from medbay.core.holds.incident import FailureSurroundings
from medbay.core.model import Attempt, Guidance, Question, Task, changed
from medbay.core.outcome import Failed, Output, OverBudget, Succeeded
from medbay.core.people import preference
from medbay.core.people.preference import Preference
from medbay.core.people.question import choose, free_text
from medbay.errors import UsageError
from tests.core.builders import NOW, after, answered, diagnosis, end, free, running, task, told

CLAUDE = Profile(name="claude", command=("claude", "{prompt_file}"), provider="anthropic/team")
REVIEWER = Profile(name="reviewer", command=("claude", "{prompt_file}"), role="spec")
PROFILES = {each.name: each for each in (CLAUDE, REVIEWER)}
SILENT = Failed(exit_code=1)
SPOKE = Failed(output=Output(tail="hello", total_bytes=5), exit_code=1)
KILLED = Failed(output=Output(tail="hello", total_bytes=5), signal=11)


def agents(**given: object) -> Task:
    """A task that an agent works on."""
    return running(runner="agent:claude", command=(), **given)


def test_a_profile_is_found_by_its_name_or_refused_with_what_is_near() -> None:
    """The name is the one in the configuration."""
    assert find(PROFILES, "claude") is CLAUDE
    with pytest.raises(UsageError, match='there is no agent "claud"; did you mean "claude"?'):
        find(PROFILES, "claud")
    with pytest.raises(UsageError, match=r"\[agents.x\] in medbay.toml makes one"):
        find({}, "x")
    with pytest.raises(UsageError, match="the name of an agent is empty; medbay agents lists them"):
        find(PROFILES, "")
    assert with_role(PROFILES.values(), "spec") == "reviewer"
    assert with_role([CLAUDE], "spec") == ""
    assert (CLAUDE.resources, REVIEWER.resources) == (("provider:anthropic/team",), ())


def test_the_runner_of_a_task_names_its_profile() -> None:
    """Only that of an agent does."""
    assert agent.runner_of("claude") == "agent:claude"
    assert agent.profile_of("agent:claude") == "claude"
    assert agent.profile_of("shell") == agent.profile_of("other:claude") == ""
    assert agent.is_agents(agents())
    assert not agent.is_agents(task())


def test_placeholders_are_filled_and_a_model_that_nobody_named_is_left_out() -> None:
    """With its option, where the word stands alone."""
    words = ("a", "-m", "{model}", "--model={model}", "-p", "{prompt_file}")

    def with_model(model: str, command: tuple[str, ...] = words) -> tuple[str, ...]:
        return filled(command, {"{prompt_file}": "/p", "{model}": model})

    assert with_model("big") == ("a", "-m", "big", "--model=big", "-p", "/p")
    assert with_model("") == ("a", "-p", "/p")
    assert with_model("", ("{model}", "x{prompt_file}")) == ("x/p",)
    assert with_model("", ("a", "-c", 'model="{model}"', "-")) == ("a", "-")
    assert agent.unknown_placeholder("{prompt_file}{nope}") == "{nope}"
    assert agent.unknown_placeholder('{"json": 1} {model}') == ""


@pytest.mark.parametrize(
    ("of", "outcome", "ran_ms", "never"),
    [
        (task(), Failed(spawn_error="no"), None, True),
        (task(), Failed(spawn_error="working directory does not exist: /gone (ENOENT)"), None, False),
        (task(), SILENT, 5, False),
        (agents(), Failed(output=Output(tail="x", total_bytes=1, result={"agent": {"records": 0}})), 5, True),
        (agents(), Failed(output=Output(tail="x", total_bytes=1, result={"agent": {"records": 3}})), 5, False),
        (agents(), SILENT, 9_999, True),
        (agents(), SILENT, 10_000, False),
        (agents(), SILENT, None, False),
        (agents(), SPOKE, 5, False),
        (agents(), KILLED, 5, True),
        (agents(), Failed(signal=9, memory_limit_hit=True), 5, False),
        (agents(), Succeeded(), 5, False),
    ],
)
def test_who_never_got_to_work(of: Task, outcome: Failed | Succeeded, ran_ms: int | None, never: bool) -> None:
    """An agent that was gone at once without a word, or by a signal; of others only what could not be started."""
    assert never_got_to_work(of, outcome, ran_ms) is never


def test_an_agent_that_never_got_to_work_strikes_its_profile_and_is_not_charged() -> None:
    """The crash loop is the profile's on that host."""
    made = end(agents(), SILENT, around=FailureSurroundings(host="h-1", ran_ms=100))

    assert (after(made).streak, after(made).charged) == (1, 0)
    assert [change.after.key for change in made.all(BreakerChange)] == ["crash_loop:agent:claude@h-1"]


FOUND = diagnosis()
SAME = Guidance(2, FOUND.suggested_fix, "text", FOUND.fingerprint)


def second(of: Task, found: object = FOUND, guidance: Guidance = SAME, **given: object) -> str:
    """What is done after the second failure of a task that was told something."""
    made = end(
        running(runner=of.runner, attempts=2, streak=1, charged=1, guidance=(guidance,), **given),
        Failed(exit_code=1),
        diagnosis=found,
    )
    return str(told(made, "task:recovery_action").data["action"])


def test_an_agent_does_not_repeat_a_failure_with_the_same_advice() -> None:
    """The ladder moves up: only a change can help."""
    assert second(agents()) == "triage"
    malformed = diagnosis(category="unknown", subcategory="malformed_output")
    assert second(agents(), malformed, Guidance(2, malformed.suggested_fix, "t", malformed.fingerprint)) == "triage"


def test_what_is_no_identical_retry() -> None:
    """A plain command, another failure, other advice, another class, a grant, the first failure, a schedule."""
    other = diagnosis(fingerprint="code_error:ffffffff")
    timeout = diagnosis(category="timeout", subcategory="limit")
    again = "retry_with_guidance"

    assert second(task(runner="shell")) == again
    assert second(agents(), other) == again
    assert second(agents(), guidance=Guidance(2, "something else", "text", FOUND.fingerprint)) == again
    assert second(agents(), timeout) == again
    assert second(agents(), granted=2, asks_at=4) == again
    assert second(agents(), every_ms=1_000, planned_at=NOW) == again
    first = end(agents(guidance=(SAME,)), Failed(exit_code=1), diagnosis=FOUND)
    assert told(first, "task:recovery_action").data["action"] == again


ASKS = Failed(
    output=Output(result={"category": "unknown/asked", "summary": "which?", "question": "Postgres\nor SQLite?"}),
    exit_code=None,
)


def test_an_agent_that_asks_is_blocked_with_its_own_words_and_not_charged() -> None:
    """Its own question: no scope that another task could join, no option that goes without words."""
    made = end(agents(), ASKS)

    asked = made.first(Question)
    assert asked is not None
    assert (after(made).status, after(made).block_kind, after(made).charged) == ("blocked", "human", 0)
    assert (asked.need, asked.evidence) == ("build: Postgres or SQLite?", "Postgres\nor SQLite?")
    assert (asked.scope, asked.free_text, asked.options[0].effect) == (None, True, "answer")
    assert told(made, "agent:asked").data["agent"] == "claude"
    assert after(made).reason == "claude asks: Postgres or SQLite?"


def asked_and_blocked() -> tuple[Task, Question]:
    """A task whose agent asked, and its question."""
    made = end(agents(), ASKS)
    question = made.first(Question)
    assert question is not None
    return after(made), question


def test_only_words_answer_an_agent_and_they_go_into_its_prompt_as_they_are() -> None:
    """A number is what it is told; the word of another option is that option."""
    blocked, question = asked_and_blocked()
    words, pause = question.options[0], question.options[1]

    assert [choose(question, each) for each in ("SQLite", "2", "default", "pause")] == [words, words, words, pause]
    assert free_text(question, "2") == "2"
    assert choose(question, "answer") is question.options[0]
    lists = replace(question, evidence="Two ways:\n\n1. Postgres\n 2) **SQLite**, as now\n- (3) both\n\nWhich one?")
    assert [free_text(lists, each) for each in ("1", "2", "3", "4")] == [
        "1. Postgres",
        "2. **SQLite**, as now",
        "3. both",
        "4",
    ]
    with pytest.raises(UsageError, match="t-1 asks for words"):
        answered(question, words, blocked)
    released = after(answered(question, words, blocked, note="SQLite,\nplease"))
    assert (released.status, released.guidance[-1].answer) == ("pending", "SQLite,\nplease")
    said = prompt.make(released, attempt=released.attempts + 1, guidance="Retry Guidance\nx", resumes=True)
    assert said.startswith("# Go on: ")
    assert "who answers:\n\nSQLite,\nplease\n\nGo on" in said
    assert "Retry Guidance" not in said


def test_what_was_chosen_before_is_never_offered_to_an_agent() -> None:
    """Nor is its answer remembered."""
    _, question = asked_and_blocked()
    before = Preference(scope="task:t-1", answer="pause", told_by="ada", told_at=NOW)

    assert preference.offered(question, [before]) is question
    assert preference.to_keep(question, question.options[0], [], by="ada", now=NOW) == []


def attempt(**given: Any) -> Attempt:
    """An attempt of an agent that has ended."""
    values: dict[str, Any] = {"outcome": "failed", "agent": "claude", "session": "s-1", "diagnosis": free()}
    return Attempt("t-1", 1, "w-1", "h-1", **(values | given))


@pytest.mark.parametrize(
    ("before", "session"),
    [
        (attempt(), "s-1"),
        (attempt(session="", resumes="s-0"), "s-0"),
        (attempt(diagnosis=diagnosis()), ""),
        (attempt(outcome="lost", diagnosis=None), "s-1"),
        (attempt(outcome="requeued", diagnosis=None), "s-1"),
        (attempt(outcome="succeeded", diagnosis=None), ""),
        (attempt(outcome="timed_out", tool_calls=2), "s-1"),
        (attempt(outcome="stalled", tool_calls=0), ""),
        (attempt(agent="codex"), ""),
        (Attempt("t-1", 1, "w-1", "h-2", agent="claude", session="s-1", outcome="lost"), ""),
        (None, ""),
    ],
)
def test_which_session_goes_on(before: Attempt | None, session: str) -> None:
    """Where the failure says so, on its host, with its agent; what was interrupted; what ran out of time at work."""
    assert session_to_resume(agents(), before, host="h-1") == session
    assert session_to_resume(agents(fresh_session=True), before, host="h-1") == ""


def test_what_a_runner_reports_of_an_agent_is_recorded() -> None:
    """Session, model, tokens in and out, calls of tools."""
    facts = {"session": "s", "model": "m", "tokens_in": 5, "tokens_out": 2, "calls": 1}

    assert agent.agent_facts(Output(result={"agent": facts})) == ("s", "m", 5, 2, 1)
    assert agent.agent_facts(Output(result={"agent": {}})) == ("", "", 0, 0, 0)
    assert agent.agent_facts(Output()) is None


def test_the_tools_it_used_are_known_as_far_as_they_can_be_read() -> None:
    """Each with its place and time; whatever else stands there is left out."""
    told = [{"tool": "Read", "path": "a", "at": 5}, {"tool": "Bash", "at": 6}, {"tool": "x", "at": "7"}, 3]

    assert agent.tools_used({"tools": told}) == (
        agent.ToolUse(tool="Read", path="a", at=5),
        agent.ToolUse(tool="Bash", path="", at=6),
    )
    assert agent.tools_used({"tools": "Read"}) == agent.tools_used(None) == ()


def test_more_of_the_same_that_would_only_cost_is_a_persons_matter() -> None:
    """A budget that is used up; a context window that was exceeded in a fresh session too."""
    over = end(agents(), OverBudget(why="used 9 tokens of 5"))
    window = Failed(output=Output(result={"category": "resource_exhaustion/context_window", "summary": "too long"}))
    once = end(agents(), window)
    twice = end(agents(streak=1, charged=1, last_category="resource_exhaustion/context_window"), window)
    command = end(running(), OverBudget(why="used 9 tokens of 5"))

    assert (after(over).status, after(over).last_category) == ("blocked", "resource_exhaustion/budget")
    assert (after(once).status, after(twice).status) == ("failed", "blocked")
    assert after(command).status == "failed"


def test_each_role_has_a_class_of_model() -> None:
    """One table; a reviewer of anything is small, and what is not in it is left to the profile."""
    assert [agent.class_of(role) for role in ("dev", "review-security", "triage", "critical", "fix")] == [
        "medium",
        "small",
        "small",
        "large",
        "",
    ]


BOTH = (("claude", ("provider:anthropic",)), ("codex", ("provider:openai",)))
TURNS = Failed(output=Output(tail="x", total_bytes=1, result={"category": "unknown/max_turns", "summary": "used up"}))


def test_the_next_agent_goes_on_where_one_cannot() -> None:
    """At the rung of triage, where nothing can be retried, and where its account is held for too long."""
    refused = Failed(output=Output(tail="x", total_bytes=1, result={"category": "unknown/auth", "summary": "401"}))
    day = NOW // 1000 + 86_400
    result = {"category": "transient/usage_limit", "summary": "limit", "retry_after": day}
    held = Failed(output=Output(tail="x", total_bytes=1, result=result))
    third = agents(agents=BOTH, streak=2, charged=2, attempts=3, last_category="unknown/max_turns")

    for outcome, of in ((refused, agents(agents=BOTH)), (held, agents(agents=BOTH)), (TURNS, third)):
        made = end(of, outcome)
        assert (after(made).runner, after(made).resources) == ("agent:codex", ("provider:openai",))
        assert (after(made).status, after(made).due_at) == ("failed", NOW + 1_000)
        assert "codex does" in told(made, "task:recovery_action").data["why"]


def test_what_waits_behind_a_long_hold_is_taken_by_the_next_agent() -> None:
    """Longer than it may wait by the named end, or by how long it has been; or where only a person ends it."""
    waiting = agents(agents=BOTH, resources=("provider:anthropic",), status="pending")
    hold = Breaker(key="provider:anthropic", kind="provider", opened_at=NOW, until=NOW + 60_001, why="usage limit")
    unnamed = replace(hold, until=None, opened_at=NOW - 60_001)
    by_hand = replace(hold, until=None, opened_by="person:me")

    for each in (hold, unnamed, by_hand):
        assert agent.outwaits(waiting, each, NOW, 60_000)
    assert not agent.outwaits(waiting, replace(hold, until=NOW + 60_000), NOW, 60_000)
    assert not agent.outwaits(waiting, replace(hold, state="closed"), NOW, 60_000)
    assert not agent.outwaits(waiting, replace(hold, key="provider:other"), NOW, 60_000)
    assert not agent.outwaits(changed(waiting, agents=()), hold, NOW, 60_000)

    made = rules.on_agent_held(waiting, NOW, hold=hold)
    assert (after(made).runner, after(made).resources) == ("agent:codex", ("provider:openai",))
    assert "usage limit" in told(made, "task:recovery_action").data["why"]

    parked = changed(waiting, hold=hold.key, uncharged_since=NOW - 90_000)
    named = replace(hold, opened_at=NOW - 30_000, data={"named": True})
    moved = after(rules.on_agent_held(parked, NOW, hold=named))
    assert (moved.runner, moved.hold, moved.uncharged_since) == ("agent:codex", None, NOW - 60_000)


def test_the_last_agent_and_one_that_asks_fall_over_to_nobody() -> None:
    """Nor does one that has more tries, or stands in no list."""
    last = running(runner="agent:codex", command=(), agents=BOTH)

    assert after(end(agents(agents=BOTH), ASKS)).runner == "agent:claude"
    assert after(end(agents(agents=BOTH), TURNS)).runner == "agent:claude"
    assert agent.next_agent(last) is agent.next_agent(agents()) is None


def test_the_end_of_an_agents_attempt_has_a_history_of_its_own() -> None:
    """Agent, session, error and metadata, in the transition that ends it; a command has none of it."""
    facts = {"session": "s-1", "model": "opus", "tokens_in": 9, "tokens_out": 2, "calls": 3}
    result = {"agent": facts, "usage": {"cost": 0.5}, "category": "unknown/max_turns", "summary": "used up"}
    made = end(agents(), Failed(output=Output(tail="x", total_bytes=1, result=result)))
    fine = end(agents(), Succeeded(output=Output(result={"agent": facts})))

    first, done = transitions(made)[0].context, transitions(fine)[0].context
    assert (first["agent"], first["session_id"], first["error"]) == ("claude", "s-1", "used up")
    numbers = {"tokens_in": 9, "tokens_out": 2, "tool_calls": 3, "cost": 0.5}
    assert first["metadata"] == {"model": "opus", **numbers}
    assert (done["error"], done["metadata"]["cost"]) == (None, None)
    assert "agent" not in transitions(end(running(), SPOKE))[0].context


def transitions(made: Decision) -> tuple[Transition, ...]:
    """The moves of the task of a decision."""
    change = made.first(Change)
    assert change is not None
    return change.transitions

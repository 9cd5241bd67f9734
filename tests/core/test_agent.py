"""Profiles of agents: their commands, who never got to work, and no identical retries."""

from __future__ import annotations

import pytest

from medbay.core import agent
from medbay.core.agent import Profile, filled, find, never_got_to_work, with_role
from medbay.core.holds.breaker import BreakerChange
from medbay.core.holds.incident import FailureSurroundings
from medbay.core.model import Guidance, Task
from medbay.core.outcome import Failed, Output, Succeeded
from medbay.errors import UsageError
from tests.core.builders import NOW, after, diagnosis, end, running, task, told

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

    assert filled(words, prompt_file="/p", model="big") == ("a", "-m", "big", "--model=big", "-p", "/p")
    assert filled(words, prompt_file="/p", model="") == ("a", "-p", "/p")
    assert filled(("{model}", "x{prompt_file}"), prompt_file="/p", model="") == ("x/p",)
    assert agent.unknown_placeholder("{prompt_file}{nope}") == "{nope}"
    assert agent.unknown_placeholder('{"json": 1} {model}') == ""


@pytest.mark.parametrize(
    ("of", "outcome", "ran_ms", "never"),
    [
        (task(), Failed(spawn_error="no"), None, True),
        (task(), Failed(spawn_error="working directory does not exist: /gone (ENOENT)"), None, False),
        (task(), SILENT, 5, False),
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

"""Places elsewhere: when no engine can start an attempt there, and what comes back from them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from medbay.core import workspace
from medbay.core.attempt import checks
from medbay.core.cluster import SAID_WITHIN_MS, away
from medbay.core.model import CheckResult, CheckStatus, Worker
from medbay.core.outcome import Output, Succeeded

ENGINE = Worker("w-1", "host", "m", "b", 1, 1, 4, ("default",), 0, 0, 0)


def knowing(**places: str) -> Worker:
    """An engine that has these places configured, each with why it is away."""
    return replace(ENGINE, places=tuple(places.items()))


@pytest.mark.parametrize(
    "place, engines, said",
    [
        ("", [knowing(cluster="down")], None),
        ("cluster", [], None),
        ("cluster", [ENGINE], None),
        ("cluster", [knowing(cluster="")], None),
        ("cluster", [knowing(cluster="down"), knowing(cluster="")], None),
        ("cluster", [knowing(cluster="down"), ENGINE], 'the place "cluster" is away: down'),
        ("cluster", [knowing(moon="")], 'no engine has the place "cluster" configured'),
    ],
)
def test_a_place_is_away_when_no_engine_reaches_it(place: str, engines: list[Worker], said: str | None) -> None:
    """One engine that reaches it is enough; one that has not said anything yet says nothing."""
    assert away(place, engines, 1_000) == said


def test_an_engine_that_never_named_a_place_has_none() -> None:
    """A task whose place was taken out of the settings says why it does not start."""
    assert away("cluster", [ENGINE], SAID_WITHIN_MS) == 'no engine has the place "cluster" configured'
    assert away("cluster", [ENGINE, knowing(cluster="")], SAID_WITHIN_MS) is None
    assert away("", [ENGINE], SAID_WITHIN_MS) is None


@pytest.mark.parametrize(
    "status, exit_code, signal",
    [
        ("PASS", 0, None),
        ("FAIL", 3, None),
        ("TIMEOUT", None, 15),
        ("STOPPED", None, 15),
        ("ERROR", 127, None),
        ("ERROR", None, 9),
        ("ERROR", None, None),
        ("WAITING", None, None),
    ],
)
def test_a_check_that_ended_elsewhere_means_the_same_here(
    status: CheckStatus, exit_code: int | None, signal: int | None
) -> None:
    """The outcome that is made of a result has the status of that result; what never began is an error."""
    result = CheckResult("k7f2", 1, 1, "true", status=status, exit_code=exit_code, signal=signal, tail="said")

    outcome = checks.outcome_of(result)

    assert checks.status_of(outcome) == (status if status != "WAITING" else "ERROR")
    assert outcome.output.tail == "said"


def test_what_an_agent_did_elsewhere_stays_on_its_branch_there() -> None:
    """Nothing here could merge it; a result without work is left as it is."""
    facts = {"repository": "/r", "directory": "/w", "worktree": "/w", "on_pass": "merge"}
    worked = Succeeded(output=Output(result={"summary": "done", workspace.FACTS: facts}))

    assert workspace.to_land(worked) is not None
    assert workspace.to_land(workspace.kept(worked)) is None
    assert workspace.kept(Succeeded()) == Succeeded()
    other = Succeeded(output=Output(result={workspace.FACTS: "none"}))
    assert workspace.kept(other) is other

"""The benchmarks themselves: a small run of the real thing, bars that are judged rightly, a report that can be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from bench import costs, intake, peers, report, scale, targets, throughput
from bench.ground import Ground
from bench.peers import merged
from bench.plots import Bar, chart
from bench.scenarios import measure
from bench.site import Site


def rate(middle: float, runs: int = 3) -> dict[str, float]:
    """A figure as results have it."""
    return {"median": middle, "min": middle, "max": middle, "n": runs}


def result(peer: str, scenario: str, store: str, **figures: Any) -> dict[str, Any]:
    """One line of results."""
    return {"peer": peer, "scenario": scenario, "store": store, "load1": 1.0, "settings": "as it comes", **figures}


OURS = result("medbay-sqlite", "A", "sqlite", n=10, drain_per_s=rate(500), bulk_per_s=rate(21_000))
HUEY = result("huey-sqlite", "A", "sqlite", n=10, drain_per_s=rate(200), enqueue_per_s=rate(90))


def test_a_few_tasks_through_the_real_daemon() -> None:
    """Every figure of a scenario is there, and every attempt is counted."""
    with Ground() as ground:
        found = measure(ground, "B", "sqlite", runs=1, count=4)

    assert (found["done"], found["attempts"]) == ([4], [12])
    assert found["drain_per_s"]["median"] > 0 and found["worker_cpu_ms_per_task"]["median"] > 0
    assert found["engine_cpu_ms_per_task"]["median"] <= found["worker_cpu_ms_per_task"]["median"]


def test_a_run_in_which_somebody_is_asked_fails(tmp_path: Path) -> None:
    """A figure that was reached by giving tasks up is none."""
    with Site(tmp_path / "site") as site:
        site.bay.add("denied", run="exit 1")
        site.bay.block(site.bay.select()[0].id, "no", kind="human")

        assert any("blocked" in each for each in site.trouble())


def test_a_troubled_run_is_a_result_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other scenarios go on."""

    def trouble(*_: object, **__: object) -> dict[str, Any]:
        raise throughput.Troubled("a breaker opened")

    monkeypatch.setattr(throughput, "measure", trouble)
    with Ground() as ground:
        assert measure(ground, "A", "sqlite", runs=1)["failed"] == "a breaker opened"


def test_a_bar_is_a_figure_or_so_many_times_the_best_peer() -> None:
    """Without the peer nothing can be said of the second kind."""
    beside = {(each.target.figure): each for each in targets.verdicts([OURS], [HUEY])}
    alone = {(each.target.figure): each for each in targets.verdicts([OURS])}

    assert (beside["drain_per_s"].bar, beside["drain_per_s"].met) == (260, True)
    assert beside["enqueue_per_s"].met is None  # not measured on our side
    assert (alone["drain_per_s"].met, alone["bulk_per_s"].met) == (None, True)
    assert not targets.verdicts([result("medbay-sqlite", "F", "sqlite", help_s=rate(0.3))])[0].met


def test_what_the_engine_computes_has_a_bar_of_its_own() -> None:
    """For a success, and for two failures with one."""
    found = [result("medbay-sqlite", each, "sqlite", engine_cpu_ms_per_task=rate(0.9)) for each in "AB"]

    judged = {each.target.scenario: each for each in targets.verdicts(found) if each.measured is not None}

    assert {scenario: (each.bar, each.met) for scenario, each in judged.items()} == {
        "A": (0.25, False),
        "B": (1.45, True),
    }


def test_runs_in_turns_become_one_result() -> None:
    """The median of all runs; one that failed is not hidden behind the others."""
    slow, fast = ({**OURS, "drain_per_s": rate(value, 1)} for value in (100, 300))

    assert merged([slow, fast])["drain_per_s"] == {"median": 200, "min": 100, "max": 300, "n": 2}
    assert merged([slow, {**OURS, "failed": "x"}])["failed"] == "x"


def test_the_report_names_every_bar_and_draws_it(tmp_path: Path) -> None:
    """A page, its figures, and pictures that are well-formed."""
    (tmp_path / "pictures").mkdir()

    written = report.write([OURS, HUEY], machine="2 processors", day="2026-11-16", docs=tmp_path)

    page = (tmp_path / "benchmarks.md").read_text("utf-8")
    assert "| A | sqlite | no-op drained | 500/s | ≥ 1.3 x huey-sqlite (260) | 1.92 | ✓ met |" in page
    assert "pictures/benchmark-a-sqlite.svg" in page
    assert {path.name for path in written} == {"benchmarks.json", "benchmarks.md", "benchmark-a-sqlite.svg"}
    ET.parse(tmp_path / "pictures" / "benchmark-a-sqlite.svg")


def test_one_scenario_can_be_measured_again(tmp_path: Path) -> None:
    """All sides of it are replaced, so that what is compared comes from one run; the others stay."""
    faster = {**OURS, "drain_per_s": rate(900)}
    other = result("medbay-sqlite", "C", "sqlite", n=1, of_spawn=rate(0.5))
    report.write([OURS, HUEY, other], machine="2 processors", day="2026-11-15", docs=tmp_path)

    report.write([faster], machine="2 processors", day="2026-11-16", docs=tmp_path, add=True)

    page = (tmp_path / "benchmarks.md").read_text("utf-8")
    assert "900" in page and "| huey-sqlite |" not in page and "| C | sqlite |" in page


def test_a_picture_escapes_what_it_is_given() -> None:
    """Names come from outside."""
    drawn = chart("a < b", "n & m", [Bar("<x>", 1.0, 0.5, 2.0, ours=True)], target=3.0)

    assert ET.fromstring(drawn) is not None


def test_where_the_peers_are_has_to_be_said(tmp_path: Path) -> None:
    """A folder without their script is refused before anything is measured."""
    with pytest.raises(SystemExit, match=r"run\.sh"):
        peers.scripts_in(tmp_path)


def test_a_batch_of_captures_is_timed_at_both_ends() -> None:
    """Whether it costs more with many behind it is a ratio of the two."""
    _, batch = intake.measure(captures=60)

    assert "after 60 captures" in batch and batch.endswith("times)")


def test_the_costs_of_an_attempt_are_counted() -> None:
    """More for one that fails than for one that does not; nothing is zero."""
    good, bad = costs.spent("sqlite", 300), costs.spent("sqlite", 300, fails=1)

    assert good.attempts == 300 - costs.SLOTS and bad.attempts == 2 * 300 - costs.SLOTS
    assert min(good.statements, good.commits, good.written, good.cpu_s) > 0
    assert bad.statements / bad.attempts > good.statements / good.attempts
    assert "statements" in good.per_attempt()


def test_an_hour_of_a_small_fleet_is_as_the_model_says() -> None:
    """Attempts and what runs at once, on virtual time."""
    found = scale.live_through(600, 20)

    assert abs(found.attempts / scale.predicted_attempts(600, 20) - 1) < 0.1
    assert found.most_live <= scale.predicted_live(600, 20) + 20  # and what asked to be tried again
    assert found.rounds > 60 and found.bytes > 0

"""`medbay policy simulate`: the table for people and programs, another policy beside, and input that cannot be used."""

from __future__ import annotations

from pathlib import Path

from medbay.sim.rivals import RIVALS
from tests.cli.calling import Cli


def test_every_policy_has_a_line_without_a_store(bare: Cli) -> None:
    """The shipped policy first, then the others, with what was measured."""
    found = bare.good("policy", "simulate", "--scenario", "flaky", "--seeds", "1")

    assert [row[:2] for row in found.cells] == [["flaky", name] for name in ("medbay", *(each.name for each in RIVALS))]
    assert all(len(row) == 12 for row in found.cells)
    assert "the real engine on virtual time" in found.err


def test_another_policy_stands_beside_the_one_in_force(cli: Cli) -> None:
    """As data, with what beats what."""
    Path("strict.toml").write_text("[policy]\nmax_retries_total = 0\n", encoding="utf-8")
    found = cli.good(
        "policy", "simulate", "--scenario", "flaky", "--seeds", "1", "--policy", "strict.toml", "--json"
    ).json

    (scenario,) = found["scenarios"]
    rows = {row["policy"]: row for row in scenario["policies"]}
    assert rows["medbay"]["beaten"] is None and rows["strict.toml"]["beaten"] is True
    assert rows["strict.toml"]["healed"] < rows["medbay"]["healed"]
    assert rows["medbay"]["tasks"] == rows["airflow"]["tasks"] == 60
    assert "flaky" in scenario["scenario"] and "Google" in scenario["story"]


def test_what_cannot_be_used_is_named(bare: Cli) -> None:
    """A scenario, a number, a file."""
    unknown = bare("policy", "simulate", "--scenario", "storm")
    assert unknown.code == 2 and "choose one of: blip, outage, limit" in unknown.err
    assert bare("policy", "simulate", "--seeds", "0").code == 2
    Path("bad.toml").write_text("[policy]\n\nmax_retries_totl = 3\n", encoding="utf-8")
    bad = bare("policy", "simulate", "--policy", "bad.toml")
    assert bad.code == 2 and "bad.toml:3" in bad.err
    assert "cannot be read" in bare("policy", "simulate", "--policy", "none.toml").err

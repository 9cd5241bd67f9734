"""`medbay policy learn`: what would be chosen and why, for people and programs."""

from __future__ import annotations

from tests.cli.calling import Cli


def fill(cli: Cli) -> None:
    """Twelve tasks that were refused: after half a minute it did not help, after more than a minute it did."""
    world = cli.world()
    tasks = [world.add(f"call {n}").id for n in range(12)]
    with world.store.write() as tx:  # as if it had been so, long ago
        for n, task in enumerate(tasks):
            sql = (
                "INSERT INTO retry (task_id, attempt, category, action, scheduled_at, due_at, delay_ms, error,"
                " guidance, status, executed_at, outcome, policy_hash) VALUES (?, ?, 'transient/network',"
                " 'retry_with_guidance', ?, ?, 30000, '', '', 'executed', ?, ?, '')"
            )
            then = tx.now - 1_000_000
            tx.execute(sql, (task, 101, then, then + 30_000, then + 30_000 + n, "failed"))
            tx.execute(sql, (task, 102, then, then + 30_000, then + 70_000 + n, "succeeded"))


def test_it_shows_what_it_would_choose_why_and_from_which_history(cli: Cli) -> None:
    """Off by default: nothing changes by looking."""
    fill(cli)
    found = cli.good("policy", "learn", "--json").json

    (each,) = (each for each in found["classes"] if each["class"] == "transient/network")
    assert (found["adaptive"], each["retries"], each["ended_well"], each["enough"]) == (False, 24, 12, True)
    assert [(band["tried"], band["share"]) for band in each["bands"]] == [(12, 0.0), (12, 1.0)]
    first = each["delays"][0]
    assert (first["scheduled_s"], first["differs"]) == (30, True) and 70 <= first["chosen_s"] < 71
    assert first["why"].startswith("12 of 12 retries that waited about 1m 10s succeeded")

    rows = cli.good("policy", "learn").cells
    assert [row[0] for row in rows] == ["class", "waited", "waited", *["delay"] * 5]
    told = cli.screen("policy", "learn")
    assert "24 retries, 12 succeeded (50%)" in told.out
    assert "30s → 1m 10s" in told.out and "are off" in told.out


def test_without_history_there_is_nothing_to_learn(cli: Cli) -> None:
    """Said in words, and empty for programs."""
    found = cli.good("policy", "learn")
    assert found.out == "" and "nothing to learn from" in found.err
    assert cli.good("policy", "learn", "--json").json == {"adaptive": False, "classes": []}


def test_too_few_retries_say_how_many_are_needed(cli: Cli) -> None:
    """And the schedule stays."""
    fill(cli)
    with cli.bay().store.write() as tx:
        tx.execute("DELETE FROM retry WHERE attempt = 101 AND executed_at IS NOT NULL")
    told = cli.screen("policy", "learn").out
    assert "12 retries are too few, 20 are needed" in told

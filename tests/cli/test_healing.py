"""What a person meets when work keeps failing, through the command line: waits, questions, who is waited for."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.calling import Cli

COUNTS = "n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) > n;"
OUTAGE = COUNTS + " [ $n -ge 4 ] || { echo 'HTTP 502 Bad Gateway'; exit 1; }"


def configure(cli: Cli, text: str) -> None:
    """Say something in the configuration."""
    Path(cli.folder, "medbay.toml").write_text(text)


def test_a_recurring_task_in_an_outage_keeps_near_its_schedule_and_asks_once(cli: Cli) -> None:
    """Waits stay below the cap, one question is asked meanwhile, and the next success withdraws it."""
    configure(cli, '[recurring]\ntransient_max_delay = "1s"\nask_after = "1s"\n')
    task = cli.add("tick", "--every", "1s", "--max-iterations", "1", "--run", OUTAGE)

    assert cli("up", "--until-idle").code == 0

    shown = cli.good("show", task, "--json").json
    assert shown["status"] == "completed"
    assert len(shown["retries"]) == 4 and all(each["delay_s"] <= 1 for each in shown["retries"])
    named = [json.loads(each)["name"] for each in cli.good("events", "--json").lines]
    assert (named.count("question:asked"), named.count("question:withdrawn")) == (1, 1)
    assert "no success for" in shown["questions"][0]["why"]

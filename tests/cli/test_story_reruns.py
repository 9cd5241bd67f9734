"""Every phase command in every state with every flag: refused, skipped, resumed or run again, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import Cli
from tests.cli.test_story import new, project, shown

EXISTS = "Story already exists. Use --force to overwrite."
ELABORATED = "Already elaborated. Use --force to re-run."
VERIFIED = "Already verified."
MERGED = "Already merged."
WALK = ("generate", "elaborate", "implement", "review", "verify", "gate")
# What each command says of itself once it is complete: in plain, with --skip-existing. RUN: it runs (again).
RUN = "RUN"
COMPLETE: dict[str, tuple[str, str]] = {
    "generate": (f"ERROR {EXISTS}", f"SKIP {EXISTS}"),
    "elaborate": (f"SKIP {ELABORATED}", f"SKIP {ELABORATED}"),
    "implement": ("SKIP implement is complete; {next} goes on from here.", "SKIP implement is complete."),
    "review": (RUN, "SKIP review is complete."),
    "verify": (f"SKIP {VERIFIED}", f"SKIP {VERIFIED}"),
    "gate": ("REFUSED", "SKIP gate is complete."),
}


def said(cli: Cli, *words: str) -> str:
    """What a command did: ran, skipped with words, refused by its row, or refused by its status."""
    runs = len(shown(cli)["phases"])
    called = cli("story", *words)
    if len(shown(cli)["phases"]) > runs:
        return RUN
    if called.code == 0:
        return f"SKIP {called.out.strip()}"
    assert called.code == 4, called
    return f"ERROR {EXISTS}" if EXISTS in called.err else "REFUSED"


@pytest.mark.long
def test_the_table(cli: Cli) -> None:
    """After each phase of the walk, every command that is complete by then."""
    project()
    new(cli)
    for at, name in enumerate(WALK):
        assert said(cli, name, "W-1") == RUN
        for done in WALK[: at + 1]:
            plain, skipping = COMPLETE[done]
            if done == "verify" and shown(cli)["status"] not in ("uat", "completed"):
                continue
            following = (*WALK[at + 1 :], "")[0]
            if shown(cli)["status"] == "completed":
                plain = {"review": "REFUSED", "implement": "SKIP implement is complete."}.get(done, plain)
            assert said(cli, done, "W-1") == plain.replace("{next}", following), (name, done)
            assert said(cli, done, "W-1", "--skip-existing") == skipping, (name, done)
    assert shown(cli)["status"] == "completed"
    cli.good("story", "finish", "W-1")
    again = cli("story", "finish", "W-1")
    assert (again.code, MERGED in again.err) == (4, True)
    for name in WALK:
        assert said(cli, name, "W-1", "--force") in (RUN, "REFUSED"), name


def test_what_always_runs_again_does_while_the_story_is_there(cli: Cli) -> None:
    """A review at its status, also after it failed nothing; a forced audit; and a second start is refused."""
    project()
    new(cli)
    cli.good("story", "run", "W-1", "--until", "ready-for-code-review")
    cli.good("story", "elaborate", "W-1", "--force")
    assert shown(cli)["status"] == "ready-for-code-review"
    lock = Path("stories/in-progress/W-1/_implementation/.phase-lock")
    lock.write_text("phase: dev-implementation\ncommand: /dev-implement-story\npid: 1\n", encoding="utf-8")
    refused = cli("story", "review", "W-1")
    assert (refused.code, "Phase in progress" in refused.err) == (4, True)
    assert lock.exists()
    lock.unlink()
    assert said(cli, "review", "W-1") == RUN

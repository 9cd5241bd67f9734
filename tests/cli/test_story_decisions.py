"""What stories want decided: by preference, by default or by a person; in a sitting, and listed in the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.calling import Cli
from tests.cli.test_story import PASS, new, project, shown
from tests.postgres_server import Server

NAME = {"question": "Which name for it?", "options": ["a", "b"], "default": "b"}
TABLE = {"question": "Drop the old table?", "options": ["keep it", "drop it"]}


def made(cli: Cli, story_id: str) -> list[tuple[str | None, str | None]]:
    """How each decision of a story was answered, and by what."""
    found = shown(cli, story_id)["decisions"]
    return [(each["answer"], (each["answered_by"] or "").split(":")[0] or None) for each in found]


@pytest.mark.long
def test_two_stories_that_ask_the_same_are_each_answered(cli: Cli) -> None:
    """A person's answer to one leaves the other open; for small things it is a preference from then on."""
    project(elaborate=PASS | {"decisions": [TABLE, NAME | {"kind": "costly"}]}, implement=PASS | {"decisions": [NAME]})
    for story_id in ("A-1", "A-2"):
        new(cli, story_id)
        assert cli("story", "run", story_id, "--until", "ready-for-code-review").code == 75
    assert [each["id"] for each in cli("decide", "--json").json] == ["q-A-1-1", "q-A-1-2", "q-A-2-1", "q-A-2-2"]

    cli.good("answer", "q-A-1-2", "a")
    assert (made(cli, "A-1"), made(cli, "A-2")) == ([(None, None), ("a", "person")], [(None, None), (None, None)])
    assert cli("story", "run", "A-1").code == 75  # the other one is open still
    cli.good("answer", "q-A-1-1", "keep it")
    cli.good("story", "run", "A-1", "--until", "ready-for-code-review")

    assert made(cli, "A-1")[-1] == ("a", "preference")
    report = cli.good("report").out
    assert "DECIDED" in report and "A-1 Which name for it? a (preference)" in report
    (listed,) = cli.good("report", "--json").json["decided"]
    assert (listed["story"], listed["by"], listed["phase"]) == ("A-1", "preference", "implement")
    assert shown(cli, "A-2")["status"] == "ready-to-work"


def test_a_sitting_goes_through_all_of_them(cli: Cli) -> None:
    """Word by word on a terminal, an empty line leaves one open; defaults never answer what blocked a story."""
    project(elaborate=PASS | {"decisions": [TABLE, {"question": "Publish it?", "options": ["yes", "no"]}]})
    new(cli, "A-1")
    assert cli("story", "run", "A-1").code == 75

    first = cli.screen("decide", columns=80, typed="drop it\n\n")
    assert first.code == 75 and "q-A-1-1: drop it" in first.out
    assert made(cli, "A-1") == [("drop it", "person"), (None, None)]
    cli.good("answer", "q-A-1-2", "2", "--note", "not before the talk")
    assert made(cli, "A-1")[1] == ("no", "person")  # a note does not stand in for the choice
    assert cli.good("decide", "--defaults").code == 0

    cli.good("story", "block", "A-1", "--reason", "later")
    no = {"verdict": "FAIL", "summary": "no"}
    project(elaborate=PASS, implement=no)
    new(cli, "A-2")
    assert cli("story", "run", "A-2").code == 75
    assert shown(cli, "A-2")["status"] == "blocked"
    cli("decide", "--defaults")
    assert shown(cli, "A-2")["status"] == "blocked"


@pytest.mark.long
def test_what_a_review_refused_is_in_the_next_prompt_of_the_role(cli: Cli) -> None:
    """In this story and in the next one; the context it comes with is kept, shown and cleared."""
    project()
    settings = Path("medbay.toml")
    refuses = '["sh", "-c", "test -e fixed || { echo unused import of os; exit 1; }"]'
    settings.write_text(settings.read_text().replace('["true"]', refuses))
    keeps = 'cp "$MEDBAY_INPUT" "seen-$MEDBAY_STORY-$MEDBAY_PHASE.json"\ntest "$MEDBAY_PHASE" = fix && touch fixed\n'
    script = Path("dev.sh")
    script.write_text(script.read_text().replace("#!/bin/sh\n", f"#!/bin/sh\n{keeps}"))
    for story_id in ("A-1", "A-2"):
        new(cli, story_id)
        cli.good("story", "run", story_id)

    assert "unused import of os" not in Path("seen-A-1-implement.json").read_text()
    assert "unused import of os" in Path("seen-A-1-fix.json").read_text()
    assert "unused import of os" in Path("seen-A-2-implement.json").read_text()
    kept = cli.good("cache", "show", "--json").json
    assert {each["tier"] for each in kept} == {"static", "domain", "session"}
    assert any(each["name"] == "role dev" and each["hits"] for each in kept)
    lasts = {"static": "23h", "domain": "3h", "session": "29m"}
    for line in cli.good("cache", "show").out.splitlines():
        assert any(line.startswith(tier) and f"{left}" in line for tier, left in lasts.items()), line
    sessions = sum(each["tier"] == "session" for each in kept)
    assert cli.good("cache", "clear", "session", "--json").json == {"removed": sessions}
    cli.good("cache", "clear")
    assert cli.good("cache", "show", "--json").json == []


def test_a_story_fits_the_screen(cli: Cli) -> None:
    """At 80 columns and at 40, whatever its texts are; the policy at 80."""
    long_words = " ".join(f"word{number}" for number in range(60))
    project(elaborate=PASS | {"summary": long_words, "decisions": [TABLE | {"question": f"Drop {long_words}?"}]})
    cli.good("story", "new", "W-1", "--title", long_words, "--criterion", long_words)
    assert cli("story", "run", "W-1").code == 75

    for columns, *words in ((80, "story", "show", "W-1"), (40, "story", "show", "W-1"), (80, "policy", "show")):
        said = cli.screen(*words, columns=columns, env={"NO_COLOR": "1"}).out
        assert max(map(len, said.splitlines())) <= columns, words
        assert "word59" in said or words[0] == "policy"


@pytest.mark.long
def test_roles_that_report_what_they_used_are_held_to_the_budget(cli: Cli) -> None:
    """At the limit of their phase, by the level of the story; TOKEN-LOG.md has it under every level."""
    project(generate=PASS | {"usage": {"tokens_in": 90_000, "tokens_out": 10_000}})
    ends = {"advisory": (0, "generated"), "warning": (0, "generated"), "soft_gate": (0, "blocked")}
    for level, (code, status) in (ends | {"hard_gate": (75, "blocked")}).items():
        story_id = f"B-{level.replace('_', '-')}"
        new(cli, story_id, "--enforcement", level)

        ended = cli("story", "generate", story_id)

        found = shown(cli, story_id)
        assert (ended.code, found["status"]) == (code, status), level
        assert found["budgets"][0] | {"phase": "generate", "used": 100_000, "level": "limit"} == found["budgets"][0]
        log = next(Path("stories").glob(f"*/{story_id}/_implementation/TOKEN-LOG.md")).read_text()
        assert "| 90000 | 10000 | 100000 | 50,000 | 100,000 |" in log


@pytest.mark.postgres
@pytest.mark.long
def test_decisions_files_and_traces_are_the_same_on_postgresql(
    cli: Cli, postgres: Server, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The walk of a story with a preference, evidence that a role left as a file, and the report."""
    monkeypatch.setenv("MEDBAY_STORE", postgres.url(database))
    project(elaborate=PASS | {"decisions": [NAME | {"kind": "costly"}]}, implement=PASS | {"decisions": [NAME]})
    leaves = """
if test "$MEDBAY_PHASE" = implement; then
  hash=$(sha256sum app.txt | cut -d ' ' -f 1)
  entry="{criterion: 1, shows: it prints, path: app.txt, phase: implement, hash: $hash}"
  printf 'story_id: P-1\\nevidence:\\n  - %s\\n' "$entry" > "$MEDBAY_STORY_DIR/_implementation/EVIDENCE.yaml"
fi
"""
    script = Path("dev.sh")
    script.write_text(script.read_text().replace("echo done > app.txt\n", f"echo done > app.txt\n{leaves}"))
    new(cli, "P-1")
    assert cli("story", "run", "P-1").code == 75
    cli.good("answer", "P-1", "a")
    cli.good("story", "run", "P-1")

    assert (shown(cli, "P-1")["status"], made(cli, "P-1")) == ("completed", [("a", "person"), ("a", "preference")])
    assert [each["by"] for each in cli.good("report", "--json").json["decided"]] == ["preference"]
    events = [json.loads(line)["event"] for line in cli.good("export", "--trace", "P-1").out.splitlines()]
    assert events.count("phase_complete") == 6

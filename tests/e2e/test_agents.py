"""Work that no command of ours does, through the installed command: a fake agent, a person, and who serves whom."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

import medbay
from medbay.core.model import Role, Task
from medbay.core.rules import on_added
from medbay.store.apply import Arrival, apply, insert_tasks
from medbay.store.database import Tx
from tests.e2e.test_the_path_of_a_task import QUICK, Terminal

# Fails until it was told something; then it does what it was told.
AGENT = """#!/bin/sh
cp "$1" "$MEDBAY_TASK.$MEDBAY_ATTEMPT.prompt"
echo "$MEDBAY_MODEL $MEDBAY_FRESH_SESSION" > "$MEDBAY_TASK.env"
if grep -q 'Specification to review' "$1"; then
    echo '{"spec": "a better one", "summary": "said what was missing"}' > "$MEDBAY_RESULT"
    exit 0
fi
if grep -q 'Retry Guidance' "$1"; then echo "thank you"; exit 0; fi
echo "src/app.ts(45,12): error TS2304: Cannot find name 'foo'."
exit 1
"""


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    """A fresh project with quick delays and a fake agent."""
    here = Terminal(tmp_path)
    here.must("init")
    agent = tmp_path / "agent.sh"
    agent.write_text(AGENT, encoding="utf-8")
    agent.chmod(0o755)
    configure(here, f'[agents.fake]\ncommand = ["{agent}", "{{prompt_file}}"]\nmodel = "small"\nrole = "spec"\n')
    return here


def configure(terminal: Terminal, more: str) -> None:
    """Set the configuration."""
    (terminal.home / "medbay.toml").write_text(f"{QUICK}\n{more}", encoding="utf-8")


def add(terminal: Terminal, *words: str) -> str:
    """Add a task; its id."""
    return terminal.must("add", *words).strip()


def serving(terminal: Terminal, subject: str, role: Role, **fields: Any) -> str:
    """What a triage would make: the subject waits for its specification, and a task serves it. Its id."""

    def make(tx: Tx) -> str:
        own = Task(
            id="serves",
            title=f"{role} of it",
            role=role,
            owner_kind="task",
            owner_id=subject,
            created_by="triage",
            **fields,
        )
        insert_tasks(tx, [Arrival.of(on_added(own, tx.now))])
        return own.id

    with medbay.open(cwd=terminal.home) as bay:
        bay.block(subject, "its specification is reviewed", kind="spec")
        with bay.store.write() as tx:
            return make(tx)


def test_an_agent_heals_with_what_was_learnt_in_its_prompt(terminal: Terminal) -> None:
    """Fails, is told what and where, and does it."""
    (terminal.home / "spec.md").write_text("There shall be foo.", encoding="utf-8")
    task = add(terminal, "Add foo", "--agent", "fake", "--description", "Users miss it.", "--spec", "spec.md")

    terminal.must("up", "--until-idle")

    done = terminal.show(task)
    assert (done["status"], done["attempts_total"], done["runner"], done["agent"]) == (
        "completed",
        2,
        "agent:fake",
        "fake",
    )
    first = (terminal.home / f"{task}.1.prompt").read_text(encoding="utf-8")
    second = (terminal.home / f"{task}.2.prompt").read_text(encoding="utf-8")
    assert first.startswith("# Add foo\n\nUsers miss it.\n\n## Specification\n\nThere shall be foo.")
    assert "## Retry Guidance (Attempt #2)" in second
    assert "> Attempt 1 failed at src/app.ts:45" in second
    prompt = terminal.home / ".medbay" / "logs" / task / "2.prompt.md"
    assert stat.S_IMODE(os.stat(prompt).st_mode) == 0o600
    assert (terminal.home / f"{task}.env").read_text(encoding="utf-8") == "small 0\n"


def test_an_agent_that_is_not_configured_is_refused_or_asked_about(terminal: Terminal) -> None:
    """When it is added, and when the profile is gone later."""
    assert 'there is no agent "fakee"; did you mean "fake"?' in terminal.run("add", "x", "--agent", "fakee").stderr
    task = add(terminal, "x", "--agent", "fake", "--max-tokens", "9", "--max-cost", "0.5")
    configure(terminal, "")

    terminal.must("up", "--until-idle", code=75)

    asked = terminal.show(task)
    assert (asked["status"], asked["block_kind"], asked["attempts_total"]) == ("blocked", "human", 1)
    assert "agent not found" in asked["question"]["why"]
    assert (asked["max_tokens"], asked["max_cost"]) == (9, 0.5)
    terminal.must("add", "y", "--run", "true", "--max-tokens", "9", code=2)


def test_an_account_of_a_profile_is_what_its_tasks_need(terminal: Terminal) -> None:
    """Unless another account of that provider is named."""
    configure(terminal, '[agents.fake]\ncommand = ["true", "{prompt_file}"]\nprovider = "acme/team"\n')

    assert terminal.show(add(terminal, "x", "--agent", "fake"))["providers"] == ["acme/team"]
    assert terminal.show(add(terminal, "x", "--agent", "fake", "--provider", "acme/me"))["providers"] == ["acme/me"]
    assert terminal.show(add(terminal, "x", "--agent", "fake", "--provider", "other"))["providers"] == [
        "other",
        "acme/team",
    ]


def test_a_person_does_what_only_a_person_can(terminal: Terminal) -> None:
    """Asked at once, never started, completed by the answer; what comes after it goes on."""
    task = add(terminal, "renew the licence", "--person", "--description", "ask Ada")
    after = add(terminal, "after", "--after", task, "--run", "true")
    later = add(terminal, "sign it", "--person", "--after", after)

    terminal.must("up", "--until-idle")

    asked = terminal.show(task)
    assert (asked["status"], asked["block_kind"], asked["attempts_total"]) == ("blocked", "human", 0)
    assert asked["question"]["evidence"] == "ask Ada"
    assert (terminal.show(later)["status"], terminal.show(later)["question"]) == ("pending", None)
    terminal.must("retry", task, code=4)
    terminal.must("answer", task, "done", "--note", "number 42")

    done = terminal.show(task)
    assert (done["status"], done["result"]) == ("completed", "number 42")
    assert [row["to"] for row in done["history"]] == ["blocked", "completed"]
    terminal.must("up", "--until-idle")
    assert terminal.show(after)["status"] == "completed"
    assert terminal.show(later)["status"] == "blocked"
    assert [each["tasks"] for each in json.loads(terminal.must("inbox", "--json"))] == [[later]]


def test_an_agent_reviews_a_specification(terminal: Terminal) -> None:
    """Its subject goes on with the new one, in the same step."""
    subject = add(terminal, "subject", "--run", "true")
    review = serving(terminal, subject, "review", runner="agent:fake", spec="an old one")

    terminal.must("up", "--until-idle")

    assert terminal.show(review)["status"] == "completed"
    done = terminal.show(subject)
    assert (done["status"], done["spec"]) == ("completed", "a better one")
    edited = next(each for each in terminal.events() if each["name"] == "task:edited")
    assert (edited["task"], edited["data"]["changed"]) == (subject, ["spec"])


def test_a_person_reviews_a_specification_or_cancels_the_review(terminal: Terminal) -> None:
    """The note is the new one; without the review its subject is a person's question."""
    subject = add(terminal, "subject", "--run", "true")
    review = serving(terminal, subject, "review", runner="person")
    with medbay.open(cwd=terminal.home) as bay, bay.store.write() as tx:
        from medbay.core.rules import on_handed_to_person
        from medbay.store import tasks

        own = tasks.get(tx, review)
        assert own is not None
        apply(tx, on_handed_to_person(own, tx.now))

    terminal.must("answer", review, "1", "--note", "written by hand")

    assert (terminal.show(subject)["status"], terminal.show(subject)["spec"]) == ("pending", "written by hand")


def test_a_cancelled_review_asks_about_its_subject(terminal: Terminal) -> None:
    """Once."""
    subject = add(terminal, "subject", "--run", "true")
    review = serving(terminal, subject, "review", runner="agent:fake")

    terminal.must("cancel", review)

    left = terminal.show(subject)
    assert (left["status"], left["block_kind"]) == ("blocked", "dependency")
    (asked,) = json.loads(terminal.must("inbox", "--json"))
    assert asked["tasks"] == [subject]


WORDS = """#!/bin/sh
echo "$MEDBAY_MODEL" > "$MEDBAY_TASK.model"
echo "$0 failed: src/app.ts(45,12): error TS2304: Cannot find name 'foo'."
exit 1
"""


def test_what_comes_after_is_handed_the_results(terminal: Terminal) -> None:
    """Title, status and result of each, in a file for its owner only."""
    first = add(terminal, "first", "--run", 'echo \'{"summary": "42 rows"}\' > "$MEDBAY_RESULT"')
    last = add(terminal, "last", "--after", first, "--run", 'cp "$MEDBAY_INPUT" input.json')
    alone = add(terminal, "alone", "--run", 'test -z "$MEDBAY_INPUT"')

    terminal.must("up", "--until-idle")

    (told,) = json.loads((terminal.home / "input.json").read_text(encoding="utf-8"))
    assert told == {"id": first, "title": "first", "status": "completed", "result": {"summary": "42 rows"}}
    assert terminal.show(alone)["status"] == "completed"
    file = terminal.home / ".medbay" / "logs" / last / "1.input.json"
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600


def test_the_next_agent_goes_on_and_classes_of_models_have_names(terminal: Terminal) -> None:
    """Where the first fails again and again; its model is the one of its class."""
    broken = terminal.home / "broken.sh"
    broken.write_text(WORDS, encoding="utf-8")
    broken.chmod(0o755)
    good = terminal.home / "agent.sh"
    configure(
        terminal,
        f'[agents.broken]\ncommand = ["{broken}", "{{prompt_file}}"]\nprovider = "acme"\n'
        f'[agents.fake]\ncommand = ["{good}", "{{prompt_file}}"]\n[models.acme]\nsmall = "acme-s"\n',
    )
    task = add(terminal, "x", "--agent", "broken,fake", "--model", "small")
    terminal.must("add", "y", "--run", "true", "--model", "small", code=2)
    terminal.must("add", "y", "--agent", "broken,nobody", code=2)

    terminal.must("up", "--until-idle")

    done = terminal.show(task)
    assert (done["status"], done["agent"], done["agents"]) == ("completed", "fake", ["broken", "fake"])
    assert [each["agent"] for each in done["attempts"]][-1] == "fake"
    assert (terminal.home / f"{task}.model").read_text(encoding="utf-8") == "acme-s\n"

"""Stories through the command line: the walk, what is refused, skipped and asked, and what people do to them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import Cli

ROLES = ("pm", "qa", "dev", "gate")
PASS: dict[str, Any] = {"verdict": "PASS", "summary": "fine"}
SHOWN = {"evidence": [{"criterion": 1, "shows": "it prints", "path": "app.txt"}], "usage": {"tokens_in": 5}}
ROLE = """#!/bin/sh
echo "$MEDBAY_PHASE" >> walked.txt
echo done > app.txt
test -s "$MEDBAY_INPUT" && test -d "$MEDBAY_STORY_DIR" || exit 9
for name in "$MEDBAY_PHASE-$(grep -c "^$MEDBAY_PHASE\\$" walked.txt)" "$MEDBAY_PHASE" ROLE; do
  if test -e "said/$name.json"; then cp "said/$name.json" "$MEDBAY_RESULT"; exit 0; fi
done
"""


def project(*, more: str = "", roles: tuple[str, ...] = ROLES, **said: Any) -> None:
    """A project whose roles answer PASS, or what is said for a role, a phase, or the Nth run of a phase."""
    Path("said").mkdir(exist_ok=True)
    lines = ["[story]", 'fast_track = "never"', more, "[roles.review-lint]", 'command = ["true"]']
    for role in roles:
        script = Path(f"{role}.sh")
        script.write_text(ROLE.replace("ROLE", role), encoding="utf-8")
        script.chmod(0o755)
        lines += [f"[roles.{role}]", f'command = ["./{role}.sh"]']
        Path(f"said/{role}.json").write_text(json.dumps(PASS | (SHOWN if role == "dev" else {})), encoding="utf-8")
    for name, answer in said.items():
        text = answer if isinstance(answer, str) else json.dumps(answer)
        Path(f"said/{name.replace('_', '-')}.json").write_text(text, encoding="utf-8")
    Path("medbay.toml").write_text("\n".join([*lines, ""]), encoding="utf-8")


def new(cli: Cli, story_id: str = "W-1", *more: str) -> None:
    """A story with one criterion."""
    cli.good("story", "new", story_id, "--title", "Print it", "--criterion", "it prints", *more)


def shown(cli: Cli, story_id: str = "W-1") -> dict[str, Any]:
    """The story as JSON."""
    found: dict[str, Any] = cli.good("story", "show", story_id, "--json").json
    return found


def walked() -> list[str]:
    """The phases that roles worked on, in their order."""
    return Path("walked.txt").read_text(encoding="utf-8").split()


def test_a_story_walks_to_completed_with_plain_commands(cli: Cli) -> None:
    """Through a review that fails and is fixed; the folder is where the status says, and the artifacts are there."""
    project()
    lint = Path("medbay.toml").read_text().replace('["true"]', '["sh", "-c", "test $(grep -c fix walked.txt) = 1"]')
    Path("medbay.toml").write_text(lint)
    new(cli)

    ran = cli.good("story", "run", "W-1")
    found = shown(cli)

    assert "completed" in ran.out
    assert walked() == ["generate", "elaborate", "implement", "fix", "verify", "gate"]
    assert (found["status"], found["directory"], found["phase"]) == ("completed", "UAT", None)
    assert [(each["phase"], each["status"]) for each in found["phases"]][3:5] == [("review", "FAIL"), ("fix", "PASS")]
    folder = Path("stories/UAT/W-1")
    names = {each.name for each in (folder / "_implementation").iterdir()}
    assert {"PROOF.md", "ELAB.yaml", "VERIFICATION.yaml", "GATE.yaml", "EVIDENCE.yaml", "TRACE.jsonl"} <= names
    assert ".phase-lock" not in names
    assert "status: completed" in (folder / "story.md").read_text()
    assert found["budgets"][0]["phase"] == "generate"
    assert cli.good("explain", "W-1").out.startswith("W-1 is completed")
    assert cli.good("show", "W-1", "--json").json["id"] == "W-1"
    assert cli.good("log", "W-1").code == 0
    assert [each["id"] for each in cli.good("story", "list", "--json").json] == ["W-1"]


@pytest.mark.long
def test_what_is_complete_is_refused_skipped_or_run_again(cli: Cli) -> None:
    """By the row of its phase, word for word."""
    project()
    new(cli)
    assert cli("story", "elaborate", "W-1").code == 4
    cli.good("story", "generate", "W-1")
    again = cli("story", "generate", "W-1")
    assert (again.code, again.err.count("Story already exists. Use --force to overwrite.")) == (4, 1)
    assert cli.good("story", "generate", "W-1", "--skip-existing").code == 0
    cli.good("story", "elaborate", "W-1")
    assert cli.good("story", "elaborate", "W-1").out.strip() == "Already elaborated. Use --force to re-run."
    assert cli.good("story", "elaborate", "W-1", "--force").code == 0
    assert cli("story", "new", "W-1", "--title", "x").code == 4
    missing = cli("story", "review", "W-1")
    assert missing.code == 4
    for name in ("implement", "review", "verify", "gate"):
        cli.good("story", name, "W-1")
    assert cli.good("story", "verify", "W-1").out.strip() == "Already verified."
    assert shown(cli)["status"] == "completed"


def test_every_missing_precondition_is_named(cli: Cli) -> None:
    """A role without anybody, a dependency, an artifact."""
    project(roles=("pm",))
    new(cli)
    new(cli, "W-2", "--depends-on", "W-1", "--workflow", "hotfix")

    refused = cli("story", "implement", "W-2")

    assert refused.code == 4
    assert "the role dev has no agent and no command" in refused.err
    assert "it depends on W-1" in refused.err
    assert "W-1" in cli.good("explain", "W-2").out
    assert cli("story", "verify", "W-2").code == 4  # a hotfix has no such phase


def test_a_costly_decision_waits_for_a_person_a_small_one_does_not(cli: Cli) -> None:
    """The small one is answered by default and listed; the other by `decide`, and the story goes on."""
    asks = {
        "decisions": [
            {"question": "Which name for it?", "options": ["a", "b"]},
            {"question": "Drop the table?", "options": ["yes", "no"]},
        ]
    }
    project(elaborate=PASS | asks)
    new(cli)

    assert cli("story", "run", "W-1").code == 75
    found = shown(cli)
    assert [(each["answer"], each["answered_by"]) for each in found["decisions"]] == [("a", "default"), (None, None)]
    assert cli("decide").code == 75
    cli.good("answer", "W-1", "no, keep it")
    assert shown(cli)["decisions"][1]["answer"] == "no, keep it"
    assert cli.good("story", "run", "W-1").code == 0
    assert cli.good("decide").code == 0


def test_a_phase_that_keeps_failing_blocks_the_story_and_asks(cli: Cli) -> None:
    """The third end of one type; a person lets it go on, and it does."""
    no = {"verdict": "FAIL", "summary": "no"}
    project(implement_1=no, implement_2=no, implement_3=no)
    new(cli)

    assert cli("story", "run", "W-1").code == 75
    found = shown(cli)
    assert (found["status"], found["blocked_from"]) == ("blocked", "in-progress")
    assert len(found["questions"]) == 1
    assert Path("stories/blocked/W-1/_implementation/ERROR-LOG.yaml").exists()
    (held,) = cli.good("breaker", "list", "--json").json
    assert (held["key"], held["kind"], held["state"]) == ("phase:W-1:implement", "phase", "open")
    cli.good("breaker", "close", "phase:W-1")
    assert (shown(cli)["status"], shown(cli)["questions"]) == ("in-progress", [])
    assert cli.good("breaker", "list", "--json").json == []
    assert cli.good("story", "run", "W-1").code == 0
    assert shown(cli)["status"] == "completed"


def test_an_answer_of_a_wrong_shape_is_asked_for_again(cli: Cli) -> None:
    """With what was wrong with it; twice, then the phase has failed."""
    project(generate_1={"verdict": "PASS", "evidence": [{"criterion": "x"}]}, generate_2={"verdict": "MAYBE"})
    new(cli)

    cli.good("story", "generate", "W-1")

    (run,) = shown(cli)["phases"]
    assert run["workers"][0]["attempts"] == 3


def test_a_file_of_a_role_is_checked_by_its_shape(cli: Cli) -> None:
    """A wrong one is asked for again with its place, and set aside for the next run; a right one is left as it is."""
    audit = "story_id: W-1\\nverdict: PASS\\nfindings: [by hand]\\nelaborated_at: 2026-01-01T00:00:00Z\\n"
    project()
    script = Path("qa.sh")
    writes = f"""
if test "$MEDBAY_PHASE" = elaborate; then
  cd "$MEDBAY_STORY_DIR/_implementation"
  if test -e ../../../../right; then printf '{audit}' > ELAB.yaml; else echo 'verdict: 3' > ELAB.yaml; fi
  cd - > /dev/null
fi
"""
    script.write_text(script.read_text().replace("#!/bin/sh\n", f"#!/bin/sh\n{writes}"))
    new(cli)

    cli.good("story", "run", "W-1", "--until", "generated")
    assert cli("story", "elaborate", "W-1").code == 1
    found = shown(cli)["phases"][-1]
    assert (found["error_type"], found["workers"][0]["attempts"]) == ("MALFORMED_OUTPUT", 3)
    assert any(line.split()[2:3] == ["ERROR"] for line in cli.good("story", "show", "W-1").lines)
    assert "ELAB.yaml: " in found["summary"] and "$.verdict" in found["summary"]
    folder = Path("stories/elaboration/W-1/_implementation")
    assert (folder / "ELAB.yaml").read_text() == "verdict: 3\n"

    Path("right").touch()
    cli.good("story", "run", "W-1", "--until", "ready-to-work")
    folder = Path("stories/ready-to-work/W-1/_implementation")
    assert "by hand" in (folder / "ELAB.yaml").read_text()
    assert [path.read_text() for path in (folder / "kept").iterdir()] == ["verdict: 3\n"]


def test_the_gate_refuses_what_nothing_shows(cli: Cli) -> None:
    """A criterion without evidence, or whose evidence has changed since."""
    project(dev=PASS)
    new(cli)
    cli("story", "run", "W-1", "--until", "uat")

    refused = cli("story", "gate", "W-1")

    assert refused.code == 1
    assert shown(cli)["status"] == "in-progress"
    assert "riterion 1" in shown(cli)["phases"][-1]["summary"]


def test_a_hotfix_takes_the_short_way(cli: Cli) -> None:
    """Implemented, reviewed, gated; without a repository there is nothing to merge when it is finished."""
    project()
    new(cli, "H-1", "--workflow", "hotfix")
    assert cli("story", "finish", "H-1").code == 4

    cli.good("story", "run", "H-1")
    cli.good("story", "finish", "H-1")
    again = cli("story", "finish", "H-1")

    assert walked() == ["implement", "gate"]
    assert (shown(cli, "H-1")["status"], shown(cli, "H-1")["merged"]) == ("completed", True)
    assert (again.code, "Already merged." in again.err) == (4, True)


def test_a_workflow_file_of_a_test_walks_to_its_end(cli: Cli) -> None:
    """Invented statuses and phases, no Python."""
    Path("workflows").mkdir()
    Path("workflows/page.toml").write_text(
        """
name = "page"
[lifecycle]
initial = "idea"
terminal = ["printed"]
statuses = { idea = "desk", written = "desk", printed = "shelf" }
moves = [{ from = "idea", to = "written" }, { from = "written", to = "printed" }]
[phases.write]
from = ["idea"]
role = "dev"
verdicts = { PASS = "written" }
[phases.print]
from = ["written"]
role = "qa"
verdicts = { PASS = "printed" }
"""
    )
    project()
    assert cli.good("workflow", "check", "workflows/page.toml").code == 0
    new(cli, "P-1", "--workflow", "page")

    cli.good("story", "run", "P-1")

    assert (shown(cli, "P-1")["status"], walked()) == ("printed", ["write", "print"])
    assert Path("stories/shelf/P-1/story.md").exists()


def test_a_mistake_in_a_workflow_file_is_named_with_its_line(cli: Cli) -> None:
    """And a file that is not there is another matter."""
    Path("w.toml").write_text('name = "w"\nlifecycle = "story"\n[phases.a]\nfrom = ["nowhere"]\n')

    wrong = cli("workflow", "check", "w.toml", "--json")

    assert (wrong.code, wrong.json[0]["line"]) == (2, 4)
    assert cli("workflow", "check", "missing.toml").code == 3
    Path("w.toml").write_text('name = "w"\nphases.a.verdicts = { PASS = "x", PASS = "y" }\n')
    assert cli("workflow", "check", "w.toml").code == 2
    assert "stateDiagram" in cli.good("workflow", "show", "story", "--format", "mermaid").out
    names = {each["name"] for each in cli.good("workflow", "list", "--json").json}
    assert {"story", "hotfix", "task", "implement_close"} <= names
    for name in names:
        assert cli.good("workflow", "show", name).out.startswith(f"{name}: ")
    assert cli("workflow", "show", "nothing").code == 3


def test_people_block_release_rescope_and_cancel(cli: Cli) -> None:
    """Each by its own command, or by those of tasks."""
    project()
    new(cli)
    cli.good("story", "block", "W-1", "--reason", "later")
    assert shown(cli)["directory"] == "blocked"
    cli.good("story", "rescope", "W-1", "--criterion", "it sings", "--title", "Sing")
    assert shown(cli)["criteria"] == ["it sings"]
    cli.good("unblock", "W-1")
    assert shown(cli)["status"] == "pending"
    assert cli("story", "update", "W-1", "completed").code == 4
    cli.good("story", "update", "W-1", "generated")
    cli.good("cancel", "W-1")
    assert (shown(cli)["status"], Path("stories/cancelled/W-1").is_dir()) == ("cancelled", True)
    assert cli("story", "block", "W-1", "--reason", "x").code == 4
    assert cli("story", "show", "nothing").code == 3


@pytest.mark.long
def test_a_new_scope_is_audited_again_also_from_blocked(cli: Cli) -> None:
    """With the work and the evidence there is; until a status means until it is reached with the new scope."""
    project()
    new(cli)
    cli.good("story", "run", "W-1", "--until", "uat")
    before = shown(cli)
    cli.good("story", "block", "W-1", "--reason", "the scope is wrong")

    said = cli.good("story", "rescope", "W-1", "--criterion", "it prints", "--criterion", "it is fast")

    assert "generated" in said.out
    after = shown(cli)
    assert (after["status"], after["directory"], after["criteria"]) == (
        "generated",
        "backlog",
        ["it prints", "it is fast"],
    )
    assert after["evidence"] == before["evidence"] and Path("app.txt").exists()
    cli.good("story", "run", "W-1", "--until", "ready-to-work")
    assert shown(cli)["status"] == "ready-to-work"
    assert walked()[-1] == "elaborate"
    cli.good("story", "cancel", "W-1")
    assert cli("story", "rescope", "W-1", "--title", "x").code == 4


def test_a_small_story_asks_whether_it_is_audited_and_the_answer_is_kept(cli: Cli) -> None:
    """Once: the next story is told."""
    project()
    Path("medbay.toml").write_text(Path("medbay.toml").read_text().replace('fast_track = "never"', ""))
    new(cli)
    new(cli, "W-2")

    assert cli("story", "run", "W-1", "--until", "ready-to-work").code == 75
    (asked,) = shown(cli)["questions"]
    assert "Skip the audit" in asked["need"] and walked() == ["generate"]
    cli.good("answer", "W-1", "fast track")
    cli.good("story", "run", "W-1", "--until", "ready-to-work")
    cli.good("story", "run", "W-2", "--until", "ready-to-work")

    assert walked() == ["generate", "generate"]
    assert [each["answered_by"] for each in shown(cli, "W-2")["decisions"]] == ["preference"]


def test_until_stops_there_also_where_it_was_before(cli: Cli) -> None:
    """A status that a story has had is reached."""
    project()
    new(cli)
    cli.good("story", "run", "W-1", "--until", "ready-to-work")
    assert shown(cli)["status"] == "ready-to-work"

    cli.good("story", "run", "W-1", "--until", "generated")

    assert shown(cli)["status"] == "ready-to-work"
    assert cli("story", "run", "W-1", "--until", "nonsense").code == 2


@pytest.mark.long
def test_stories_with_dependencies_run_side_by_side(cli: Cli) -> None:
    """What is held back starts once the other is completed."""
    project()
    new(cli, "A")
    new(cli, "B", "--depends-on", "A")

    cli.good("story", "run", "A", "B")

    assert [each["status"] for each in cli.good("story", "list", "--json").json] == ["completed", "completed"]
    assert cli("story", "new", "C", "--title", "c", "--depends-on", "nothing").code == 3


@pytest.mark.long
def test_a_split_goes_on_with_its_parts(cli: Cli) -> None:
    """The whole is superseded; each part walks on from generated."""
    project(
        elaborate_1={"verdict": "needs-split", "summary": "too large"},
        split=PASS | {"parts": [{"title": "one", "criteria": ["it prints"]}, {"title": "two", "criteria": ["x"]}]},
    )
    new(cli)

    cli.good("story", "run", "W-1")

    found = {each["id"]: each["status"] for each in cli.good("story", "list", "--json").json}
    assert found == {"W-1": "superseded", "W-1-1": "completed", "W-1-2": "completed"}


@pytest.mark.long
def test_a_daemon_drives_what_is_handed_over(cli: Cli) -> None:
    """`up` until idle brings it to its end; what cannot start is asked about."""
    project()
    new(cli)
    cli.good("story", "run", "W-1", "--detach")

    cli.good("up", "--until-idle")

    assert shown(cli)["status"] == "completed"
    project(roles=("pm",))
    Path("medbay.toml").write_text('[roles.pm]\ncommand = ["true"]\n')
    new(cli, "H-1", "--workflow", "hotfix")
    cli.good("story", "run", "H-1", "--detach")
    cli("up", "--until-idle")
    assert shown(cli, "H-1")["status"] == "blocked"


@pytest.mark.parametrize("words", [("story", "run", "x"), ("decide",), ("story", "cancel", "x")])
def test_inside_an_attempt_they_are_refused(cli: Cli, words: tuple[str, ...]) -> None:
    """They are a person's commands."""
    assert cli(*words, env={"MEDBAY_ATTEMPT_KEY": "k"}).code == 4

"""The bundle: what passes its schema, and what hostile answers are refused with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medbay.core.intake import bundle, rules_agent
from medbay.core.intake.bundle import BundleRefused
from medbay.core.intake.prompt import captures_in, prompt_text
from medbay.core.intake.records import Capture

GOOD: dict[str, Any] = {
    "title": "one",
    "metadata": {"capture_ids": ["cap-a"], "suggested_target": "task"},
    "content": [
        {"title": "do", "description": "it", "acceptance_criteria": ["done"], "captures": ["cap-b"], "confidence": 1}
    ],
    "notes": {"confidence": 0.5, "ambiguities": ["which"]},
}
KNOWN = {"cap-a", "cap-b"}
PUBLISHED = Path(__file__).parents[3] / "docs" / "reference" / "bundle.schema.json"


def changed(**more: Any) -> str:
    """The good bundle with other fields."""
    return json.dumps({**GOOD, **more})


def candidate(**more: Any) -> str:
    """The good bundle with another candidate."""
    return changed(content=[{**GOOD["content"][0], **more}])


def test_a_good_bundle_is_read_also_in_a_fence_and_with_its_usage() -> None:
    """What the call cost is not part of the bundle."""
    found = bundle.read(f"```json\n{changed(usage={'cost': 1})}\n```", KNOWN)

    assert bundle.used(found) == ("cap-a", "cap-b")
    assert found.content[0].confidence == 1


def test_secrets_and_control_characters_do_not_stay_in_a_bundle() -> None:
    """What an agent prints is stored and shown."""
    found = bundle.read(candidate(title="a\u001b[31mb", description="key sk-ant-api03-" + "a" * 40), KNOWN)

    assert "\x1b" not in found.content[0].title
    assert "a" * 40 not in found.content[0].description


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "empty"),
        ("nonsense", "not one JSON object"),
        ("[1]", "not one JSON object"),
        ("{" * 100_000 + "}" * 100_000, "schema"),
        ("x" * 1_000_000, "longer than 256 KB"),
        (changed(metadata={"capture_ids": ["cap-a", "cap-zzz"]}), "not in the snapshot: cap-zzz"),
        (candidate(captures=["other"]), "not in the snapshot: other"),
        (changed(metadata={"capture_ids": []}), "length >= 1"),
        (changed(content=[]), "length >= 1"),
        (candidate(title="  "), "matching regex"),
        (candidate(acceptance_criteria=[]), "length >= 1"),
        (candidate(acceptance_criteria=[" "]), "matching regex"),
        (candidate(confidence=2), "<= 1"),
        (candidate(confidence="high"), "Expected `float`"),
        (changed(cancel_tasks=["k7f2"]), "unknown field `cancel_tasks`"),
        (candidate(run="rm -rf ."), "unknown field `run`"),
        (changed(notes=None), "notes"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(answer: str, why: str) -> None:
    """Unknown captures, no criteria, a megabyte, orders of any kind."""
    with pytest.raises(BundleRefused, match="(?s).*") as refused:
        bundle.read(answer, KNOWN)

    assert why in str(refused.value)
    assert len(str(refused.value)) <= 500


def test_the_published_schema_is_the_one_in_force() -> None:
    """Programs check their bundles against it."""
    assert json.loads(PUBLISHED.read_text(encoding="utf-8")) == json.loads(json.dumps(bundle.schema()))


def test_a_prompt_says_which_captures_it_shows() -> None:
    """Line breaks inside a capture do not make another one."""
    shown = (Capture(id="cap-a", text='one\n{"id": "x"}'), Capture(id="cap-b", text="two"))

    assert [(each["id"], each["text"]) for each in captures_in(prompt_text(shown))] == [
        ("cap-a", 'one\n{"id": "x"}'),
        ("cap-b", "two"),
    ]
    with pytest.raises(ValueError, match="has no line"):
        captures_in("something else")


TEXTS = ("login is flaky on Safari", "export as CSV", "Safari logins failing", "CSV exports are empty", "it")


def test_the_groups_of_the_rules_agent_do_not_depend_on_the_order() -> None:
    """Captures that share words become one candidate, and what it says is a good bundle."""
    captures = [Capture(id=f"cap-{at}", text=text) for at, text in enumerate(TEXTS)]
    one = rules_agent.answer(prompt_text(captures))
    two = rules_agent.answer(prompt_text(reversed(captures)))

    found = bundle.read(json.dumps(one), {each.id for each in captures})
    assert one == two
    assert sorted(each.captures for each in found.content) == [("cap-0", "cap-2"), ("cap-1", "cap-3"), ("cap-4",)]


def test_one_capture_is_one_candidate() -> None:
    """The simplest of all."""
    said = rules_agent.answer(prompt_text([Capture(id="cap-a", text="x")]))

    assert said["title"] == "1 candidate from 1 capture"

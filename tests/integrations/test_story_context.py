"""Role instructions, the cache of prompts, and what a role is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from medbay.core.workflow.context import KEPT_MS
from medbay.core.workflow.records import PhaseRun, Story
from medbay.core.workflow.reviewers import ROLES
from medbay.errors import ConfigError
from medbay.integrations import roles
from medbay.integrations.context_cache import ContextCache
from medbay.integrations.story_context import StoryContext

NOW = 1_770_000_000_000
STORY = Story(id="S-1", title="T")


def test_every_role_has_shipped_instructions() -> None:
    """Of people and of reviewers, each with its name."""
    assert set(roles.shipped()) == {"pm", "qa", "dev", "gate", *ROLES}
    assert all(text.startswith("# ") and len(text) > 200 for text in roles.shipped().values())


def test_a_users_file_stands_over_the_shipped_one(tmp_path: Path) -> None:
    """Only for its role; a role nobody knows is told nothing."""
    (tmp_path / "dev.md").write_text("Be bold.\n")
    (tmp_path / "own.md").write_text("Mine.\n")

    assert roles.instructions(tmp_path, "dev") == "Be bold."
    assert roles.instructions(tmp_path, "own") == "Mine."
    assert roles.instructions(tmp_path, "qa") == roles.instructions(None, "qa") == roles.shipped()["qa"]
    assert roles.instructions(tmp_path, "nobody") == roles.instructions(tmp_path, "../dev") == ""


@pytest.mark.parametrize("data", [b"\xff\xfe", b"x" * (roles.TEXT_MAX + 1)])
def test_instructions_that_cannot_be_read_are_named(tmp_path: Path, data: bytes) -> None:
    """With their file."""
    (tmp_path / "dev.md").write_bytes(data)

    with pytest.raises(ConfigError, match=r"dev\.md"):
        roles.instructions(tmp_path, "dev")


def test_a_piece_is_kept_until_its_time_is_over(tmp_path: Path) -> None:
    """By tier, while its sources are the same."""
    made: list[str] = []
    cache = ContextCache(tmp_path / "cache")

    def take(tier: str, at: int, sources: str = "s") -> str:
        def make() -> str:
            made.append(tier)
            return f"{tier} {len(made)}"

        return cache.take(tier, "n", sources=sources, make=make, now_ms=at).text  # type: ignore[arg-type]

    for tier, kept in KEPT_MS.items():
        made.clear()
        assert take(tier, NOW) == take(tier, NOW + kept - 1) == f"{tier} 1"
        assert take(tier, NOW + kept) == f"{tier} 2"
        assert take(tier, NOW + kept, "other") == f"{tier} 3"
    assert [(each.tier, each.hits) for each in cache.entries()] == [("static", 0), ("domain", 0), ("session", 0)]


def test_content_that_was_changed_is_made_again(tmp_path: Path) -> None:
    """The hash of the content decides, not its name."""
    cache = ContextCache(tmp_path)
    cache.take("static", "n", sources="s", make=lambda: "text", now_ms=NOW)
    (content,) = (tmp_path / "content").iterdir()
    content.write_text("forged")

    assert cache.take("static", "n", sources="s", make=lambda: "text", now_ms=NOW).text == "text"


def test_clearing_removes_a_tier_or_everything(tmp_path: Path) -> None:
    """And the content nobody needs any more."""
    cache = ContextCache(tmp_path)
    for tier in KEPT_MS:
        cache.take(tier, "n", sources="s", make=lambda tier=tier: f"text of {tier}", now_ms=NOW)  # type: ignore[misc]
    (tmp_path / "static" / "junk").write_text("{")

    assert cache.clear("domain") == 1
    assert [each.tier for each in cache.entries()] == ["static", "session"]
    assert cache.clear() == 3
    assert cache.entries() == [] and not list((tmp_path / "content").iterdir())


def test_a_cache_that_cannot_be_written_only_costs_time(tmp_path: Path) -> None:
    """The piece is made all the same."""
    (tmp_path / "cache").write_text("a file")

    cache = ContextCache(tmp_path / "cache")

    assert cache.take("static", "n", sources="s", make=lambda: "text", now_ms=NOW).text == "text"
    assert cache.entries() == [] and cache.clear() == 0


def test_a_role_is_told_what_changes_least_first(tmp_path: Path) -> None:
    """Instructions, documents, files, learnings, history; the same bytes for the same things."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "README.md").write_text("A project\x1b[31m.\n")
    (project / "a.py").write_text("x = 1\n")
    context = StoryContext(tmp_path / "cache", project)
    runs = [PhaseRun(story_id="S-1", number=1, phase="implement", status="PASS", verdict="PASS", ended_at=1)]

    found = context.pieces("dev", story=STORY, runs=runs, learnings=["run the linter"], now_ms=NOW)

    assert [(each["tier"], each["name"].split()[0]) for each in found] == [
        ("static", "role"),
        ("static", "documents"),
        ("domain", "files"),
        ("domain", "learnings"),
        ("session", "history"),
    ]
    assert found[1]["text"] == "## README.md\n\nA project [31m.\n"
    assert found[2]["text"] == "2 files (1 .md, 1 .py):\nREADME.md\na.py\n"
    assert "- run the linter" in found[3]["text"]
    assert context.pieces("dev", story=STORY, runs=runs, learnings=["run the linter"], now_ms=NOW) == found
    (project / "README.md").write_text("Another project.\n")
    again = context.pieces("dev", story=STORY, runs=[], learnings=[], now_ms=NOW)
    assert [each["name"].split()[0] for each in again] == ["role", "documents", "files"]
    assert "Another project." in again[1]["text"]

"""story.md: what people may write into it, and what we write."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from medbay.core.workflow import frontmatter
from medbay.core.workflow.frontmatter import StoryText, read, render
from medbay.core.workflow.records import Story

STORY = Story(
    id="S-1",
    title="Search for names",
    criteria=("finds a name", "says when there is none"),
    priority=1,
    depends_on=("S-0",),
    multiplier=1.5,
)


def test_a_new_file_says_what_the_store_says() -> None:
    """Everything of the frontmatter, the title as heading, the criteria as a list."""
    text = render(replace(STORY, description="As a reader\nI search."), None)

    assert read(text).said == {
        "id": "S-1",
        "title": "Search for names",
        "status": "pending",
        "priority": 1,
        "depends_on": ("S-0",),
        "enforcement": "warning",
        "multiplier": 1.5,
        "criteria": ("finds a name", "says when there is none"),
    }
    assert "\n# Search for names\n\nAs a reader\nI search.\n" in text
    assert "\n1. finds a name\n2. says when there is none\n" in text


def test_writing_again_changes_nothing() -> None:
    """The same record gives the same bytes, over the file as it is."""
    text = render(STORY, None)

    assert render(STORY, text) == text


def test_a_change_touches_its_own_lines_only() -> None:
    """Comments, unknown keys, order and the body stay as a person wrote them."""
    before = (
        "---\n# our story\nowner: ann\ntitle: 'Old'\ndepends_on:\n  - A\n  - B\nstatus: pending\n\nlabels: [x]\n---\n"
        "Body\n\n## Acceptance Criteria:\n\nBy Friday.\n- [ ] one\n- [x] two\n\n## Notes\n- three\n"
    )

    after = render(Story(id="S-1", title="New", status="generated", criteria=("one", "four")), before)

    assert '# our story\nowner: ann\ntitle: "New"\ndepends_on: []\nstatus: generated\n' in after
    assert "labels: [x]\n" in after
    assert "## Acceptance Criteria:\n\nBy Friday.\n\n1. one\n2. four\n\n## Notes\n- three\n" in after


def test_criteria_of_the_frontmatter_move_to_the_list_when_they_change() -> None:
    """There is one place for them."""
    before = "---\nacceptance_criteria:\n- one\n- 2\n---\n"

    assert read(before).criteria == ("one", "2")
    after = render(Story(id="S", title="T", criteria=("three",)), before)
    assert "acceptance_criteria" not in after and read(after).criteria == ("three",)


def test_a_file_without_frontmatter_gets_one_and_keeps_its_text() -> None:
    """The store knows what it has to say."""
    found = read("just words\n")

    assert found.mistakes == ("line 1: there is no frontmatter between two lines of ---",)
    assert render(STORY, "just words\n").endswith(
        "---\njust words\n\n## Acceptance criteria\n\n1. finds a name\n2. says when there is none\n"
    )


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("---\ntitle: [\n---\n", "line 2: the frontmatter is not YAML: expected the node content"),
        ("---\ntitle: x\n\tpriority: 1\n---\n", "is not YAML"),
        (f"---\na: {'[' * 1000}\n---\n", "is not YAML"),
        ("---\na: 2026-13-45\n---\n", "is not YAML"),
        ("---\n- a\n---\n", "line 2: the frontmatter is not a list of `name: value`"),
        ("---\ntitle: x\n", "line 1: there is no frontmatter"),
        ("x" * (frontmatter.FILE_MAX + 1), "line 1: the file is longer than 256 KB"),
    ],
)
def test_what_cannot_be_read_is_named_and_left_alone(text: str, mistake: str) -> None:
    """A person's half-finished edit is never written over."""
    found = read(text)

    assert not found.readable
    assert mistake in found.mistakes[0]
    assert render(STORY, text) == text


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("title: 12", {"title": "12"}),
        ('title: "a\\n<b>x</b>"', {"title": "a <b>x</b>"}),
        ("priority: P3", {"priority": 3}),
        ("depends_on: A, B", {"depends_on": ("A", "B")}),
        ("depends_on: [A, A, 7]", {"depends_on": ("A", "7")}),
        ("depends_on:", {"depends_on": ()}),
        ("token_budget:", {}),
        ("token_budget: {enforcement: hard_gate, multiplier: '2'}", {"enforcement": "hard_gate", "multiplier": 2.0}),
        ("acceptance_criteria: only one", {"criteria": ("only one",)}),
    ],
)
def test_hand_written_forms_are_understood(line: str, said: dict[str, Any]) -> None:
    """People write lists, texts and numbers in more than one way."""
    assert read(f"---\n{line}\n---\n") == StoryText(**said)


@pytest.mark.parametrize(
    ("line", "mistake"),
    [
        ("title: {a: 1}", "line 3: title is not a text"),
        ('title: "\\n"', "line 3: title is not a text"),
        ("priority: 9", "line 3: priority is not one of 0 to 4"),
        ("priority: high", "line 3: priority is not one of 0 to 4"),
        ("depends_on: {a: 1}", "line 3: depends_on is not a list of texts"),
        ("depends_on: [[a]]", "line 3: depends_on is not a list of texts"),
        (f"depends_on: [{','.join(map(str, range(101)))}]", "line 3: depends_on has more than 100 entries"),
        ("token_budget: 5", "line 3: token_budget has `enforcement` and `multiplier`, and nothing else"),
        ("token_budget: {enforcement: never}", "line 3: token_budget enforcement is not one of advisory"),
        ("token_budget: {multiplier: 0}", "line 3: token_budget multiplier is not a number above 0"),
        ("token_budget: {multiplier: .inf}", "line 3: token_budget multiplier is not a number above 0"),
    ],
)
def test_a_value_that_makes_no_sense_counts_as_not_said(line: str, mistake: str) -> None:
    """With its line, and the rest is read."""
    found = read(f"---\nid: S-1\n{line}\n---\n")

    assert found.said == {"id": "S-1"}
    assert found.mistakes[0].startswith(mistake)


def test_an_empty_frontmatter_says_nothing() -> None:
    """It is one all the same."""
    assert read("---\n---\n") == StoryText()
    assert read(render(STORY, "---\n---\n")).title == "Search for names"


def test_only_the_criteria_may_change() -> None:
    """And only the frontmatter."""
    text = render(STORY, None)

    other = render(replace(STORY, criteria=("new",)), text)
    assert other.split("---")[1] == text.split("---")[1] and other.endswith("\n1. new\n")
    assert render(replace(STORY, priority=3), text) == text.replace("priority: 1", "priority: 3")


def test_a_status_that_is_no_plain_word_is_quoted() -> None:
    """Statuses of a workflow file may look like anything."""
    assert 'status: "No"' in render(replace(STORY, status="No"), None)


def test_only_what_a_person_changed_is_an_edit() -> None:
    """What differs from what we wrote and from the store; the id never."""
    written = frontmatter.told(STORY).said
    moved_on = replace(STORY, status="generated")
    found = replace(frontmatter.told(STORY), id="S-9", title="Better", multiplier=1.5)

    assert frontmatter.edited(found, written, moved_on) == StoryText(title="Better")
    assert frontmatter.edited(frontmatter.told(STORY), written, moved_on) is None
    assert frontmatter.edited(found, {}, moved_on) is None


def test_a_mistake_is_reported_without_an_edit() -> None:
    """It has to be said to someone."""
    found = StoryText(mistakes=("line 2: title is not a text",))

    assert frontmatter.edited(found, {}, STORY) == found


@given(st.text(max_size=300), st.lists(st.text(min_size=1, max_size=80), max_size=5))
def test_any_title_and_criteria_survive_the_file(title: str, criteria: list[str]) -> None:
    """Markup, line ends, quotes, signs of YAML and Markdown: what is written is what is read."""
    story = replace(STORY, title=title, criteria=tuple(criteria))

    found = read(render(story, None))

    assert found.mistakes == ()
    assert found.said == frontmatter.told(story).said


@given(st.text(max_size=400))
def test_reading_never_fails(text: str) -> None:
    """Whatever an editor left there."""
    for each in (text, f"---\n{text}\n---\n", f"---\n{text}"):
        found = read(each)
        assert found.readable or found.mistakes
        assert (
            read(render(STORY, each)).said.get("title", "Search for names") == "Search for names" or not found.readable
        )


def test_what_a_write_that_did_not_end_may_have_left_is_no_edit() -> None:
    """The file says what it said before, or what was to be written."""
    story = Story(id="S-1", title="Newer")
    found = frontmatter.StoryText(title="Old")

    assert frontmatter.edited(found, {"title": "New"}, story, before={"title": "Old"}) is None
    edited = frontmatter.edited(found, {"title": "New"}, story)
    assert edited is not None and edited.title == "Old"

"""Which folder goes where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medbay.core.workflow.folder_sync import FolderFound, FolderStep, FolderWanted, is_folder_name, steps

WANTED = FolderWanted(id="S-1", directory="UAT")


def found(path: str, id_: str = "", has_story: bool = True) -> FolderFound:
    directory, _, name = path.partition("/")
    return FolderFound(directory=directory, name=name, id=id_, has_story=has_story)


def test_a_folder_in_its_place_needs_nothing() -> None:
    """By its id, or by its name where its file says none."""
    assert steps([WANTED], [found("UAT/S-1", "S-1")]) == []
    assert steps([WANTED], [found("UAT/S-1")]) == []


def test_a_folder_elsewhere_is_moved_back() -> None:
    """Also one that got another name: its file says whose it is."""
    (moved,) = steps([WANTED], [found("backlog/renamed", "S-1")])

    assert (moved.kind, moved.source, moved.target) == ("move", "backlog/renamed", "UAT/S-1")
    assert moved.why == "S-1: moved from backlog/renamed/ to UAT/S-1/"


def test_a_folder_waits_while_a_phase_runs() -> None:
    """It never moves under one."""
    busy = FolderWanted(id="S-1", directory="UAT", running="review")

    (wait,) = steps([busy], [found("in-progress/S-1", "S-1")])

    assert wait.kind == "wait" and "while review runs" in wait.why


def test_a_folder_that_is_gone_is_made_again() -> None:
    """From the store."""
    (made,) = steps([WANTED], [])

    assert (made.kind, made.target) == ("make", "UAT/S-1")


def test_a_second_folder_is_left_alone_and_named() -> None:
    """The one in the right place is used."""
    (left,) = steps([WANTED], [found("backlog/S-1", "S-1"), found("UAT/S-1", "S-1")])

    assert left == FolderStep(
        kind="leave",
        story="S-1",
        source="backlog/S-1",
        why="S-1: also in backlog/S-1/, which was left alone; UAT/S-1/ is the one that is used",
    )


@pytest.mark.parametrize(
    ("name", "hint"), [("X-9", "medbay story new X-9 makes one"), ("a b", "its name can be no id")]
)
def test_an_unknown_folder_is_left_alone_and_named(name: str, hint: str) -> None:
    """It may be anything of a person's."""
    (left,) = steps([], [found(f"backlog/{name}")])

    assert left.kind == "leave" and hint in left.why


@pytest.mark.parametrize("name", ["S-1", "a", "WISH-001.b_c", "9"])
def test_a_plain_id_names_a_folder(name: str) -> None:
    """Letters, digits, dots, dashes."""
    assert is_folder_name(name)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "a\n", "-a", "a.", "é", "a" * 65])
def test_other_names_are_refused(name: str) -> None:
    """They would lead elsewhere, or not exist on other systems."""
    assert not is_folder_name(name)


def test_a_folder_makes_room_before_another_is_made() -> None:
    """Names that a person swapped: what is in the way goes first."""
    wanted = [FolderWanted(id="A", directory="UAT"), FolderWanted(id="B", directory="backlog")]

    moved, made = steps(wanted, [found("UAT/A", "B")])

    assert (moved.kind, moved.target, made.kind, made.target) == ("move", "backlog/B", "make", "UAT/A")


_DIRECTORIES = st.sampled_from(["backlog", "UAT", "blocked"])
_NAMES = st.sampled_from(["A", "B", "C", "D"])


@given(
    st.dictionaries(st.sampled_from(["A", "B", "C"]), _DIRECTORIES),
    st.lists(st.tuples(_DIRECTORIES, _NAMES, st.booleans()), unique_by=lambda each: each[:2]),
)
def test_after_the_steps_every_story_has_its_folder(
    wanted: dict[str, str], folders: list[tuple[str, str, bool]]
) -> None:
    """No folder is moved onto another, and a second look finds nothing to do."""
    stories = [FolderWanted(id=name, directory=directory) for name, directory in wanted.items()]
    have = {f"{directory}/{name}": name if said else "" for directory, name, said in folders}

    for step in steps(stories, [found(path, id_) for path, id_ in have.items()]):
        if step.kind == "move":
            assert step.target not in have
            have[step.target] = have.pop(step.source)
        elif step.kind == "make":
            assert step.target not in have
            have[step.target] = step.story

    assert all(each.path in have for each in stories)
    assert {each.kind for each in steps(stories, [found(*each) for each in have.items()])} <= {"leave"}

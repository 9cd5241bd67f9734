"""Where the folders of stories have to be: the store is the truth for a status, the directory follows it.

What was found on disk and what the store says give steps that make them equal, each with what is said of it. Nothing
that a person made is deleted: what is not known, or is there twice, is left where it is and named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

StepKind = Literal["make", "move", "wait", "leave"]

_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class FolderFound(Struct, frozen=True, kw_only=True):
    """A folder below the root: where it is, and the id that its story.md names."""

    directory: str
    name: str
    id: str = ""  # empty: its story.md does not say, or is not there
    has_story: bool = False

    @property
    def path(self) -> str:
        """Below the root."""
        return f"{self.directory}/{self.name}"


class FolderWanted(Struct, frozen=True, kw_only=True):
    """A story of the store: in which directory its folder belongs, and the phase that runs in it."""

    id: str
    directory: str
    running: str = ""  # a folder never moves while one of its phases runs

    @property
    def path(self) -> str:
        """Below the root."""
        return f"{self.directory}/{self.id}"


class FolderStep(Struct, frozen=True, kw_only=True):
    """One thing to do, or to say."""

    kind: StepKind
    story: str
    source: str = ""  # below the root; empty where a folder is made
    target: str = ""
    why: str


def is_folder_name(story_id: str) -> bool:
    """Whether a folder may have this name, on any system and whatever comes after it."""
    return _ID.fullmatch(story_id) is not None and not story_id.endswith(".")


def steps(wanted: Iterable[FolderWanted], found: Sequence[FolderFound]) -> list[FolderStep]:
    """What has to be done so that the folders equal the store: a folder is made after others made room for it."""
    stories = {each.id: each for each in wanted}
    made: list[FolderStep] = []
    owned = _owned(stories, found)
    for story in stories.values():
        made += _of_story(story, owned.get(story.id, []))
    made.sort(key=lambda step: step.kind == "make")
    made += [
        FolderStep(kind="leave", story=each.name, source=each.path, why=_unknown(each))
        for each in sorted(found, key=lambda each: each.path)
        if not any(each in folders for folders in owned.values())
    ]
    return made


def _owned(stories: Mapping[str, FolderWanted], found: Sequence[FolderFound]) -> dict[str, list[FolderFound]]:
    """The folders of each story: by the id in story.md, else by name."""
    owned: dict[str, list[FolderFound]] = {}
    for each in found:
        owner = each.id if each.id in stories else each.name
        if owner in stories:
            owned.setdefault(owner, []).append(each)
    return owned


def _of_story(story: FolderWanted, folders: list[FolderFound]) -> list[FolderStep]:
    if not folders:
        why = f"{story.id}: its folder was gone; made again in {story.directory}/ from the store"
        return [FolderStep(kind="make", story=story.id, target=story.path, why=why)]
    first, *others = sorted(folders, key=lambda each: (each.path != story.path, not each.has_story, each.path))
    made = [
        FolderStep(
            kind="leave",
            story=story.id,
            source=each.path,
            why=f"{story.id}: also in {each.path}/, which was left alone; {first.path}/ is the one that is used",
        )
        for each in others
    ]
    if first.path == story.path:
        return made
    if story.running:
        why = f"{story.id}: stays in {first.path}/ while {story.running} runs; {story.directory}/ comes after it"
        return [FolderStep(kind="wait", story=story.id, source=first.path, target=story.path, why=why), *made]
    why = f"{story.id}: moved from {first.path}/ to {story.path}/"
    return [FolderStep(kind="move", story=story.id, source=first.path, target=story.path, why=why), *made]


def _unknown(folder: FolderFound) -> str:
    new = f"medbay story new {folder.name} makes one" if is_folder_name(folder.name) else "its name can be no id"
    return f"{folder.path}/: no story of this store; left alone ({new})"

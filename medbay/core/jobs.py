"""Jobs that stand in a file: what it says of each, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from medbay.errors import MedbayError

JobAction = Literal["add", "change", "keep", "cancel", "refuse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileJob:
    """One job as its file has it: the names are those of the options of `medbay add`."""

    name: str
    key: str
    given: Mapping[str, Any]
    line: int = 1
    lines: Mapping[str, int] = field(default_factory=dict)  # of each name that is given


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFile:
    """All jobs of a file. What an apply of it created has a key that begins with `prefix`."""

    jobs: tuple[FileJob, ...]
    prefix: str
    cwd: str  # where jobs run that do not say


@dataclass(frozen=True, slots=True, kw_only=True)
class JobChange:
    """What became of one job: which fields changed (before, after), or why it was refused."""

    name: str
    action: JobAction
    line: int | None = None
    task_id: str = ""
    title: str = ""
    changed: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    error: MedbayError | None = None

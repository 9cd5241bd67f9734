"""Workflows from files: the shipped ones and a user's own, by the same reader. A mistake is named with its line."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

from medbay.config.lines import Document
from medbay.core.workflow import workflow
from medbay.core.workflow.workflow import Workflow, WorkflowRefused
from medbay.errors import ConfigError, NotFound
from medbay.foreign import read_regular

SHIPPED: Final = ("story", "hotfix", "task")
BYTES_MAX: Final = 256 * 1024
_AT: Final = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowFile:
    """A workflow with the text it is kept as, the hash of that, and where it came from."""

    workflow: Workflow
    text: str  # canonical JSON of what the file says
    file: str

    @property
    def hash(self) -> str:
        """What tells it from every other version of it."""
        return hashlib.blake2b(self.text.encode(), digest_size=12).hexdigest()


def shipped(name: str) -> WorkflowFile:
    """One of the workflows that come with the package."""
    return parse(_shipped_text(name), f"{name}.toml")


def _shipped_text(name: str) -> str:
    return resources.files("medbay").joinpath("workflows", f"{name}.toml").read_text(encoding="utf-8")


def find(name: str, folder: Path | None) -> WorkflowFile:
    """The workflow of a name: a user's own in this folder, else a shipped one; raises NotFound."""
    own = _own(folder).get(name)
    if own is not None:
        return read(own)
    if name in SHIPPED:
        return shipped(name)
    known = ", ".join([*SHIPPED, *_own(folder)])
    raise NotFound(f'there is no workflow "{name}"', hint=f"there are {known}; a file {name}.toml makes one")


def every(folder: Path | None) -> Iterator[WorkflowFile]:
    """Every workflow there is; raises ConfigError for a file with mistakes."""
    own = _own(folder)
    yield from (shipped(name) for name in SHIPPED if name not in own)
    yield from (read(path) for _, path in sorted(own.items()))


def _own(folder: Path | None) -> dict[str, Path]:
    try:
        found = sorted(folder.iterdir()) if folder is not None else []
    except OSError:
        return {}
    return {each.stem: each for each in found if each.suffix == ".toml"}


def read(path: Path) -> WorkflowFile:
    """A workflow of a file; raises NotFound, or ConfigError with its first mistake."""
    found = mistakes(path)
    if found:
        raise found[0]
    return parse(_text(path), str(path))


def mistakes(path: Path) -> tuple[ConfigError, ...]:
    """Everything wrong with a file, by its line; raises NotFound where there is none."""
    return _mistakes(_text(path), str(path))


def _text(path: Path) -> str:
    try:
        return read_regular(path, BYTES_MAX).decode("utf-8")
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}", hint="medbay workflow check FILE") from None
    except (OSError, ValueError) as error:
        hint = "a workflow is a text file in UTF-8"
        raise ConfigError(f"cannot be read: {error}", file=str(path), hint=hint) from None


def parse(text: str, file: str) -> WorkflowFile:
    """The workflow in a text; raises ConfigError with its first mistake."""
    found = _mistakes(text, file)
    if found:
        raise found[0]
    data = tomllib.loads(text)
    return WorkflowFile(workflow=workflow.read(data), text=json.dumps(data, sort_keys=False), file=file)


def _mistakes(text: str, file: str) -> tuple[ConfigError, ...]:
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        at = _AT.search(str(error))
        line = int(at[1]) if at and at[1] else text.count("\n") + 1
        said = _AT.sub("", str(error)).strip()
        hint = "a key stands once: one verdict leads to one status" if "overwrite" in said else "it is written as TOML"
        return (ConfigError(said, file=file, line=line, hint=hint),)
    try:
        workflow.read(data)
    except WorkflowRefused as refused:
        document = Document(file, text)
        made = [
            ConfigError(each.message, file=file, line=document.line(each.path), hint=each.hint)
            for each in refused.mistakes
        ]
        return tuple(sorted(made, key=lambda each: each.line or 0))
    return ()

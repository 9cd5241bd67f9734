"""What a project offers its reviewers: tools beside it and on the path, targets, scripts, kinds of files."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from medbay.core.workflow import reviewers
from medbay.core.workflow.reviewers import ProjectFacts
from medbay.integrations import syntax

TOOLS: Final = (
    *("make", "npm", "pnpm", "yarn", "eslint", "prettier", "tsc", "go", "gosec", "cargo"),
    *("ruff", "flake8", "black", "bandit", "mypy", "pyright", "pyproject-build"),
)
TEXT_MAX: Final = 1024 * 1024
_MAKEFILES: Final = ("GNUmakefile", "makefile", "Makefile")
_TARGET: Final = re.compile(r"^([A-Za-z0-9][A-Za-z0-9_.-]*)[ \t]*:(?!=)", re.MULTILINE)
_PACKAGERS: Final = (("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"))


def plan(project: Path, home: Path | None = None) -> dict[str, tuple[str, ...] | None]:
    """The command of each of the six reviewers in a project; None where it has nothing to run.

    A worktree has its tools beside the project it is of, which is its `home`.
    """
    return reviewers.plan(facts_of(project, home))


def facts_of(project: Path, home: Path | None = None) -> ProjectFacts:
    """What is in a project. What cannot be read is not there."""
    project = project.absolute()
    top = frozenset(_top(project))
    pyproject = _toml(project / "pyproject.toml")
    tables = {*pyproject, *(f"tool.{name}" for name in _table(pyproject.get("tool")))}
    packager = next((name for file, name in _PACKAGERS if file in top), "npm")
    return ProjectFacts(
        files=top,
        suffixes=frozenset(Path(name).suffix for name in syntax.files_in(project)),
        targets=frozenset(target for name in _MAKEFILES if name in top for target in _targets(project / name)),
        scripts=frozenset(_table(_json(project / "package.json").get("scripts"))),
        packager=packager,
        tables=frozenset(tables),
        tools={name: path for name in TOOLS if (path := _where(name, project, home))},
        python=_where("python", project, home) or sys.executable,
        syntax=syntax.__file__,
    )


def _where(name: str, *projects: Path | None) -> str:
    """A tool beside the project first, then on the path; of Python only the project's own."""
    found = (each.absolute() for each in projects if each is not None)
    beside = (each / where for each in found for where in (".venv/bin", "venv/bin", "node_modules/.bin"))
    path = os.pathsep.join(map(str, beside))
    if name != "python":
        own = os.path.dirname(sys.executable)  # installed with us, where the path does not have it
        path = os.pathsep.join((path, os.environ.get("PATH", os.defpath), own))
    return shutil.which(name, path=path) or ""


def _top(project: Path) -> Iterator[str]:
    try:
        yield from (entry.name for entry in os.scandir(project))
    except OSError:
        return


def _text(path: Path) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(TEXT_MAX)
    except OSError:
        return ""


def _targets(path: Path) -> list[str]:
    return _TARGET.findall(_text(path))


def _json(path: Path) -> dict[str, Any]:
    try:
        return _table(json.loads(_text(path) or "{}"))
    except (ValueError, RecursionError):
        return {}


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(path))
    except (ValueError, RecursionError):
        return {}


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}

"""The six reviewers as commands found in a project: each fails a planted defect of its kind, and passes without it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from medbay.core.workflow.reviewers import ROLES
from medbay.integrations import reviewers

SOUND = (
    '"""Add numbers."""\n\n\ndef add(one: int, two: int) -> int:\n    """Return their sum."""\n    return one + two\n'
)
BUILD = "build:\n\ttest ! -e unfinished\n"
DEFECTS = {
    "review-lint": ("planted.py", '"""Unused."""\n\nimport os\n'),
    "review-syntax": ("planted.json", '{"open": \n'),
    "review-style": ("planted.py", '"""Badly laid out."""\nnumbers = [1,\n  2]\n'),
    "review-security": (
        "planted.py",
        '"""Runs what it is told."""\n\n\ndef run(words: str) -> object:\n    return eval(words)\n',
    ),
    "review-typecheck": ("planted.py", '"""A number that is none."""\n\nnumber: int = "one"\n'),
    "review-build": ("unfinished", ""),
}


def failing(project: Path, roles: Iterable[str] = ROLES) -> set[str]:
    """Which of these reviewers refuse a project as it is."""
    planned = reviewers.plan(project)
    return {
        role
        for role in roles
        if subprocess.run(planned[role] or (), cwd=project, capture_output=True, timeout=120).returncode
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small one in which nothing is wrong, with something to run for each reviewer."""
    (tmp_path / "sums.py").write_text(SOUND, encoding="utf-8")
    (tmp_path / "Makefile").write_text(BUILD, encoding="utf-8")
    (tmp_path / "mypy.ini").write_text("[mypy]\nfiles = .\n", encoding="utf-8")
    planned = reviewers.plan(tmp_path)
    assert [role for role in ROLES if planned[role] is None] == []
    return tmp_path


@pytest.mark.parametrize("asked", ["its own", pytest.param("all", marks=pytest.mark.long)])
def test_each_reviewer_refuses_its_own_defect_and_passes_without_it(project: Path, asked: str) -> None:
    """One thing after the other is wrong; where all are asked, the others pass."""
    assert failing(project) == set()
    for role, (name, text) in DEFECTS.items():
        (project / name).write_text(text, encoding="utf-8")
        assert failing(project, ROLES if asked == "all" else (role,)) == {role}
        (project / name).unlink()

"""The six reviewers of a real project: each fails a planted defect of its kind, and passes without it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from medbay.core.workflow.reviewers import ROLES
from medbay.integrations import syntax
from medbay.integrations.reviewers import facts_of, plan

SOUND = '''"""A sound module."""


def twice(number: int) -> int:
    """Return it doubled."""
    return 2 * number
'''
DEFECTS = {
    "review-lint": ("calc.py", SOUND.replace('"""\n\n\ndef', '"""\n\nimport os\n\n\ndef')),
    "review-syntax": ("calc.py", SOUND + "def (:\n"),
    "review-style": ("calc.py", SOUND.replace("2 * number", "2*number")),
    "review-security": ("calc.py", SOUND + '\n\nPLAN = eval("1 + 1")\n'),
    "review-typecheck": ("calc.py", SOUND.replace("2 * number", "str(number)")),
    "review-build": ("Makefile", "build:\n\tfalse\n"),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small sound project."""
    (tmp_path / "calc.py").write_text(SOUND)
    (tmp_path / "Makefile").write_text("build:\n\ttrue\n.PHONY: build\nX := 1\n")
    return tmp_path


def review(project: Path, role: str) -> subprocess.CompletedProcess[str]:
    words = plan(project)[role]
    assert words is not None, role
    return subprocess.run(words, cwd=project, capture_output=True, text=True, timeout=120)


def test_every_reviewer_passes_a_sound_project(project: Path) -> None:
    """And leaves nothing in it."""
    for role in ROLES:
        ran = review(project, role)
        assert ran.returncode == 0, (role, ran.stdout, ran.stderr)
    assert {each.name for each in project.iterdir()} <= {"calc.py", "Makefile", ".mypy_cache"}


@pytest.mark.parametrize("role", ROLES)
def test_a_reviewer_fails_a_defect_of_its_kind(project: Path, role: str) -> None:
    """It says what is wrong."""
    name, text = DEFECTS[role]
    (project / name).write_text(text)

    ran = review(project, role)

    assert 0 < ran.returncode < 126
    assert ran.stdout + ran.stderr


def test_scripts_and_targets_of_a_project_are_found(tmp_path: Path) -> None:
    """With the packager its lock file names; what cannot be read is not there."""
    (tmp_path / "package.json").write_text('{"scripts": {"lint": "true", "build": "true"}}')
    (tmp_path / "yarn.lock").touch()
    (tmp_path / "Makefile").write_text("all: x\nlint :\n\ttrue\nVAR := 1\n%.o: %.c\n\tcc\n")
    (tmp_path / "pyproject.toml").write_text("[tool.mypy]\n[build-system]\nrequires = []\n")

    facts = facts_of(tmp_path)

    assert (set(facts.scripts), set(facts.targets), facts.packager) == ({"lint", "build"}, {"all", "lint"}, "yarn")
    assert facts.tables == {"tool", "tool.mypy", "build-system"}


@pytest.mark.parametrize("text", ["{", "[]", '{"scripts": 5}'])
def test_files_that_make_no_sense_are_not_there(tmp_path: Path, text: str) -> None:
    """A reviewer is no judge of them, except for their syntax."""
    (tmp_path / "package.json").write_text(text)
    (tmp_path / "pyproject.toml").write_text("[")

    facts = facts_of(tmp_path)

    assert facts.scripts == facts.tables == set()
    assert facts_of(tmp_path / "gone").files == set()


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.json", "{"), ("a.toml", "["), ("a.yaml", "a: ["), ("a.sh", "if"), ("a.py", "\0"), ("sub/a.py", "x = (")],
)
def test_the_syntax_of_every_known_kind_is_read(tmp_path: Path, name: str, text: str) -> None:
    """The file is named; the good ones and those of other kinds are not."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "good.py").write_text(SOUND)
    (tmp_path / "notes.txt").write_text("{")
    (tmp_path / name).write_text(text)

    ran = review(tmp_path, "review-syntax")

    assert ran.returncode == 1
    assert ran.stdout.startswith(f"{name}: ") and ran.stdout.endswith("2 files read, 1 with a mistake\n")
    assert syntax.main(str(tmp_path)) == 1


def test_what_git_ignores_is_not_read(tmp_path: Path) -> None:
    """Environments and builds are not the project's text."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("made/\n")
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "a.py").write_text("(")
    (tmp_path / "b.py").write_text(SOUND)

    assert syntax.files_in(tmp_path) == [".gitignore", "b.py"]
    assert syntax.main(str(tmp_path)) == 0

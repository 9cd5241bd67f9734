"""Which command each reviewer runs."""

from __future__ import annotations

from typing import Any

import pytest

from medbay.core.workflow.reviewers import ROLES, ProjectFacts, plan

PYTHON = frozenset({".py"})


def tools(*names: str) -> dict[str, str]:
    return {name: f"/bin/{name}" for name in names}


def test_a_project_without_anything_has_no_reviewers() -> None:
    """Each is named all the same."""
    assert plan(ProjectFacts()) == dict.fromkeys(ROLES)


def test_what_a_project_names_itself_comes_first() -> None:
    """Targets before scripts, and both before tools."""
    facts = ProjectFacts(
        suffixes=PYTHON,
        targets=frozenset({"lint", "build", "style"}),
        scripts=frozenset({"lint", "typecheck", "format:check"}),
        packager="pnpm",
        tools=tools("make", "pnpm", "ruff", "mypy"),
    )

    found = plan(facts)

    assert found["review-lint"] == ("/bin/make", "lint")
    assert found["review-build"] == ("/bin/make", "build")
    assert found["review-style"] == ("/bin/pnpm", "run", "format:check")
    assert found["review-typecheck"] == ("/bin/pnpm", "run", "typecheck")


def test_a_target_needs_make_and_a_script_its_packager() -> None:
    """Without them the tools are left."""
    facts = ProjectFacts(suffixes=PYTHON, targets=frozenset({"lint"}), scripts=frozenset({"lint"}), tools=tools("ruff"))

    assert plan(facts)["review-lint"] == ("/bin/ruff", "check", "--no-cache", ".")


@pytest.mark.parametrize(
    ("role", "facts", "words"),
    [
        ("review-lint", {"tools": tools("flake8")}, ("/bin/flake8", ".")),
        ("review-syntax", {"python": "py", "syntax": "s.py"}, ("py", "-I", "s.py")),
        ("review-style", {"tools": tools("ruff")}, ("/bin/ruff", "format", "--check", "--no-cache", ".")),
        ("review-style", {"tools": tools("black")}, ("/bin/black", "--check", "-q", ".")),
        ("review-security", {"tools": tools("ruff", "bandit")}, ("/bin/bandit", "-q", "-r", ".", "-s", "B101")),
        ("review-security", {"tools": tools("ruff")}, ("/bin/ruff", "check", "--no-cache", "--select", "S")),
        ("review-typecheck", {"tools": tools("mypy")}, ("/bin/mypy", "--ignore-missing-imports", ".")),
        ("review-typecheck", {"tools": tools("mypy"), "tables": frozenset({"tool.mypy"})}, ("/bin/mypy",)),
        (
            "review-typecheck",
            {"tools": tools("pyright"), "files": frozenset({"pyrightconfig.json"})},
            ("/bin/pyright",),
        ),
        ("review-build", {"tools": tools("go"), "files": frozenset({"go.mod"})}, ("/bin/go", "build", "./...")),
        (
            "review-build",
            {"tools": tools("pyproject-build"), "tables": frozenset({"build-system"})},
            ("/bin/pyproject-build", "--no-isolation"),
        ),
    ],
)
def test_a_tool_is_used_where_the_project_has_files_for_it(
    role: str, facts: dict[str, Any], words: tuple[str, ...]
) -> None:
    """The best one that is installed; nothing for a project of another kind."""
    found = plan(ProjectFacts(**{"suffixes": PYTHON, **facts}))[role]

    assert found is not None and found[: len(words)] == words
    if role != "review-syntax":
        assert plan(ProjectFacts(tools=facts["tools"]))[role] is None

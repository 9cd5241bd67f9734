"""The six reviewers as commands: what a project has, in the order in which it is asked for.

What a project names itself (a target of its Makefile, a script of its package.json) comes before a tool that is found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

Command = tuple[str, ...]

ROLES: Final = (
    "review-lint",
    "review-syntax",
    "review-style",
    "review-security",
    "review-typecheck",
    "review-build",
)

_OWN_NAMES: Final[Mapping[str, tuple[str, ...]]] = {  # of targets and scripts
    "review-lint": ("lint",),
    "review-syntax": ("syntax", "check-syntax"),
    "review-style": ("format-check", "format:check", "check-format", "fmt-check", "fmt:check", "style"),
    "review-security": ("security", "audit"),
    "review-typecheck": ("typecheck", "type-check", "types", "tsc"),
    "review-build": ("build",),
}
_SECURITY_IGNORED: Final = "S101,S404,S603,S607"  # assertions, and calls of other programs as such


class ProjectFacts(Struct, frozen=True, kw_only=True):
    """What was found in a project and on its machine."""

    files: frozenset[str] = frozenset()  # names at its top
    suffixes: frozenset[str] = frozenset()  # of all its files: `.py`
    targets: frozenset[str] = frozenset()  # of its Makefile
    scripts: frozenset[str] = frozenset()  # of its package.json
    packager: str = "npm"
    tables: frozenset[str] = frozenset()  # of its pyproject.toml: `tool.mypy`
    tools: Mapping[str, str] = {}  # name -> where it is
    python: str = "python3"
    syntax: str = ""  # the script that reads every file of a known kind


def plan(facts: ProjectFacts) -> dict[str, Command | None]:
    """The command of each reviewer; None where the project has nothing to run."""
    return {role: _own(role, facts) or next(_found(role, facts), None) for role in ROLES}


def _own(role: str, facts: ProjectFacts) -> Command | None:
    for name in _OWN_NAMES[role]:
        if name in facts.targets and "make" in facts.tools:
            return (facts.tools["make"], name)
        if name in facts.scripts and facts.packager in facts.tools:
            return (facts.tools[facts.packager], "run", name)
    return None


def _found(role: str, facts: ProjectFacts) -> Iterator[Command]:
    """What tools offer for one role, the best first."""
    match role:
        case "review-lint":
            yield from _lint(facts)
        case "review-syntax":
            if facts.syntax:
                yield (facts.python, "-I", facts.syntax)
        case "review-style":
            yield from _style(facts)
        case "review-security":
            yield from _security(facts)
        case "review-typecheck":
            yield from _typecheck(facts)
        case _:
            yield from _build(facts)


def _tool(facts: ProjectFacts, name: str, *words: str, kind: str = "", file: str = "") -> Iterator[Command]:
    """A tool with its arguments, where it is installed and the project has files for it."""
    if name in facts.tools and (not kind or kind in facts.suffixes) and (not file or file in facts.files):
        yield (facts.tools[name], *words)


def _lint(facts: ProjectFacts) -> Iterator[Command]:
    yield from _tool(facts, "ruff", "check", "--no-cache", ".", kind=".py")
    yield from _tool(facts, "flake8", ".", kind=".py")
    yield from _tool(facts, "eslint", ".", file="package.json")
    yield from _tool(facts, "go", "vet", "./...", file="go.mod")
    yield from _tool(facts, "cargo", "clippy", "--", "-D", "warnings", file="Cargo.toml")


def _style(facts: ProjectFacts) -> Iterator[Command]:
    yield from _tool(facts, "ruff", "format", "--check", "--no-cache", ".", kind=".py")
    yield from _tool(facts, "black", "--check", "-q", ".", kind=".py")
    yield from _tool(facts, "prettier", "--check", ".", file="package.json")
    yield from _tool(facts, "cargo", "fmt", "--check", file="Cargo.toml")


def _security(facts: ProjectFacts) -> Iterator[Command]:
    yield from _tool(facts, "bandit", "-q", "-r", ".", "-s", "B101", "-x", "./.venv,./venv,./node_modules", kind=".py")
    security = ("check", "--no-cache", "--select", "S", "--ignore", _SECURITY_IGNORED, ".")
    yield from _tool(facts, "ruff", *security, kind=".py")
    yield from _tool(facts, "gosec", "./...", file="go.mod")


def _typecheck(facts: ProjectFacts) -> Iterator[Command]:
    if "tool.mypy" in facts.tables or "mypy.ini" in facts.files:
        yield from _tool(facts, "mypy", kind=".py")
    if "tool.pyright" in facts.tables or "pyrightconfig.json" in facts.files:
        yield from _tool(facts, "pyright", kind=".py")
    yield from _tool(facts, "mypy", "--ignore-missing-imports", ".", kind=".py")
    yield from _tool(facts, "tsc", "--noEmit", file="tsconfig.json")
    yield from _tool(facts, "cargo", "check", file="Cargo.toml")


def _build(facts: ProjectFacts) -> Iterator[Command]:
    if "build-system" in facts.tables:
        yield from _tool(facts, "pyproject-build", "--no-isolation", "--outdir", "/tmp/medbay-build", kind=".py")
    yield from _tool(facts, "go", "build", "./...", file="go.mod")
    yield from _tool(facts, "cargo", "build", file="Cargo.toml")

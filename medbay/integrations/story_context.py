"""What a role is told besides its story, gathered from the project: instructions, documents, files, what happened."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from medbay.core.untrusted import block, lines
from medbay.core.workflow import context
from medbay.core.workflow.context import ContextPiece, digest
from medbay.core.workflow.records import PhaseRun, Story
from medbay.integrations import roles, syntax
from medbay.integrations.context_cache import ContextCache
from medbay.integrations.git import repository_above

DOCUMENTS: Final = ("README.md", "CONTRIBUTING.md", "AGENTS.md", "CLAUDE.md", "ARCHITECTURE.md")
DOCUMENT_MAX: Final = 8_000  # characters of each
FILES_SHOWN: Final = 300


class StoryContext:
    """The context of the stories of one project."""

    def __init__(self, cache: Path, project: Path, instructions: Path | None = None) -> None:
        self._cache = ContextCache(cache)
        self._project = project
        self._instructions = instructions

    def pieces(
        self, role: str, *, story: Story, runs: Sequence[PhaseRun], learnings: Sequence[str], now_ms: int
    ) -> list[dict[str, Any]]:
        """Everything a role is told, what changes least first; empty pieces left out."""
        told = roles.instructions(self._instructions, role)
        learned = context.learned(learnings)
        happened = context.history(story, runs)
        found = [
            self._cache.take("static", f"role {role}", sources=digest(told), make=lambda: told, now_ms=now_ms),
            self._documents(now_ms),
            self._files(now_ms),
            self._cache.take(
                "domain", f"learnings {role}", sources=digest(learned), make=lambda: learned, now_ms=now_ms
            ),
            self._cache.take(
                "session", f"history {story.id}", sources=digest(happened), make=lambda: happened, now_ms=now_ms
            ),
        ]
        return [each.as_data() for each in found if each.text]

    def _documents(self, now_ms: int) -> ContextPiece:
        """The project's own documents; read again when one of them changed."""
        found = [self._project / name for name in DOCUMENTS if (self._project / name).is_file()]
        sources = digest("\n".join(f"{path}\0{_stamp(path)}" for path in found))

        def make() -> str:
            return "\n".join(f"## {path.name}\n\n{_beginning(path)}\n" for path in found)

        return self._cache.take("static", f"documents {self._project}", sources=sources, make=make, now_ms=now_ms)

    def _files(self, now_ms: int) -> ContextPiece:
        """What kinds of files there are and where; made again when the repository has another commit."""
        git = _git_folder(self._project)
        sources = digest(f"{_stamp(self._project)}\0{_stamp(git / 'HEAD')}\0{_stamp(git / 'index')}")

        def make() -> str:
            names = syntax.files_in(self._project)
            shown = lines("".join(f"{name}\n" for name in names[:FILES_SHOWN]))
            kinds = Counter(Path(name).suffix or "none" for name in names).most_common(8)
            more = f"... and {len(names) - FILES_SHOWN} more\n" if len(names) > FILES_SHOWN else ""
            summary = ", ".join(f"{number} {kind}" for kind, number in kinds)
            return f"{len(names)} files ({summary}):\n{shown}{more}" if names else ""

        return self._cache.take("domain", f"files {self._project}", sources=sources, make=make, now_ms=now_ms)


def _git_folder(project: Path) -> Path:
    """Where git keeps what is checked out in a project; of a worktree that is elsewhere."""
    top = repository_above(project) or project
    try:
        said = (top / ".git").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return top / ".git"
    return top / said.removeprefix("gitdir: ").strip()


def _stamp(path: Path) -> str:
    try:
        found = os.stat(path)
    except OSError:
        return "-"
    return f"{found.st_mtime_ns}:{found.st_size}"


def _beginning(path: Path) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return block(file.read(DOCUMENT_MAX * 2), DOCUMENT_MAX)
    except OSError:
        return ""

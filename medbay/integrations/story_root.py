"""The directory of story folders in a repository: ignored by git, or committed by us, and then nothing else with it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from medbay.integrations.git import Git, repository_above

IGNORED: Final = "*\n"
COMMITTED: Final = ".phase-lock\n.written.json\n.*.new\n.*.old\n"
_BEFORE: Final = ".phase-lock\n.written.json\n.*.new\n"  # as it was written until the second name was known
FILE: Final = ".gitignore"


def mark(root: Path, *, commit: bool) -> None:
    """Say to git what is ignored here; a file that a person wrote stays as it is."""
    if repository_above(root) is None:
        return
    path, wanted = root / FILE, COMMITTED if commit else IGNORED
    try:
        before = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        before = None
    if before == wanted or before not in (None, IGNORED, COMMITTED, _BEFORE):
        return
    root.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{FILE}.{os.getpid()}.new")
    part.write_text(wanted, encoding="utf-8")
    os.replace(part, path)


def commit(root: Path, message: str) -> str:
    """Commit what changed below the directory, and only that: what a person staged stays staged. The commit, if any.

    Raises GitFailed while git is in the middle of something, as a merge that a person resolves.
    """
    if repository_above(root) is None:
        return ""
    git = Git(root)
    with git.locked():
        git.run("add", "--all", "--", ".")
        if git.call("diff", "--cached", "--quiet", "--", ".")[0] == 0:
            return ""
        git.run("commit", "--quiet", "--no-verify", "--only", "-m", message, "--", ".")
        return git.run("rev-parse", "HEAD")

"""The shell of a command line, and what a success says against itself."""

from __future__ import annotations

import pytest

from medbay.core.shell import shell_words, shown_shell, strong_failure


@pytest.mark.parametrize(
    ("shell", "words"),
    [
        ("", ["/bin/sh", "-c"]),
        ("sh", ["/bin/sh", "-c"]),
        ("bash", ["bash", "-o", "pipefail", "-c"]),
        ("/opt/bash", ["/opt/bash", "-o", "pipefail", "-c"]),
        ("zsh", ["zsh", "-c"]),
        ("bash -eu -c", ["bash", "-eu", "-c"]),
        ("bash -eu", ["bash", "-eu", "-c"]),
    ],
)
def test_a_shell_is_a_name_or_words(shell: str, words: list[str]) -> None:
    """Nothing is sh, as tasks of before have it."""
    assert shell_words(shell, "true") == [*words, "true"]
    assert shown_shell(shell) == " ".join(words)


@pytest.mark.parametrize(
    ("line", "guarded"),
    [
        ("yes | head -1", True),
        ("cd x && yes | head -1", True),
        ("yes | head -1 && upload", False),
        ("a || b", False),
        ("true", False),
    ],
)
def test_a_closed_pipe_is_looked_at_only_where_nothing_was_to_follow(line: str, guarded: bool) -> None:
    """Everything else runs as it stands."""
    assert (shell_words("bash", line)[-1] != line) is guarded
    assert shell_words("sh", line)[-1] == line


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("sh: 1: mysqldump: not found\n", "mysqldump: not found"),
        ("bash: line 1: mysqldump: command not found\ndone\n", "mysqldump: command not found"),
        ("cp: error writing 'x': No space left on device", "cp: error writing 'x': No space left on device"),
        ("Traceback (most recent call last):\n  File x\nValueError: bad\nwent on", "ValueError: bad"),
        ("fatal: not a git repository", "fatal: not a git repository"),
        ("pg_dump: error: connection to server failed", "pg_dump: error: connection to server failed"),
        ("Segmentation fault (core dumped)", "Segmentation fault (core dumped)"),
        ("Traceback (most recent call last):", ""),
        ("0 errors, 0 failures", ""),
        ("warning: package not found in cache, fetching", ""),
        ("all of it was written", ""),
        ("", ""),
    ],
)
def test_a_success_whose_log_names_a_failure(log: str, said: str) -> None:
    """The last line that no program writes which did what it was asked for."""
    assert strong_failure(log) == said

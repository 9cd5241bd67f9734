"""Reads every file of a known kind in a directory and names those that cannot be read: the reviewer of syntax.

A script of its own, run by the project's Python, so that its version decides. Writes nothing. Exit 1 where something
is wrong. Python, JSON, TOML and YAML (where that can be read), shell scripts and JavaScript (where those are there).
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Final

FILES_MAX: Final = 50_000
BYTES_MAX: Final = 4 * 1024 * 1024
CALL_S: Final = 30.0
SKIPPED: Final = frozenset(
    {".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".medbay", ".tox", "build", "dist"}
)


def files_in(folder: Path | str) -> list[str]:
    """The files of a project by their names below it: those that git knows or would add, else all."""
    listed = ["git", "-C", str(folder), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        ran = subprocess.run(listed, capture_output=True, timeout=CALL_S, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        ran = None
    if ran is not None and ran.returncode == 0:
        return sorted(filter(None, os.fsdecode(ran.stdout).split("\0")))[:FILES_MAX]
    return sorted(_walked(str(folder)))[:FILES_MAX]


def main(folder: str = ".") -> int:
    """Read every file; say what is wrong."""
    bad = 0
    read = 0
    for name in files_in(folder):
        check = CHECKS.get(os.path.splitext(name)[1])
        path = os.path.join(folder, name)
        if check is None or not os.path.isfile(path) or os.path.getsize(path) > BYTES_MAX:
            continue
        read += 1
        why = check(path)
        if why:
            bad += 1
            print(f"{name}: {why}")
    print(f"{read} files read, {bad} with a mistake")
    return 1 if bad else 0


def _walked(folder: str) -> Iterator[str]:
    for at, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if each not in SKIPPED]
        yield from (os.path.relpath(os.path.join(at, name), folder) for name in names)


def _python(path: str) -> str:
    try:
        with open(path, "rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(file.read(), path)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error)
    return ""


def _json(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig") as file:
            json.load(file)
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    return ""


def _toml(path: str) -> str:
    try:
        import tomllib
    except ImportError:
        return ""
    try:
        with open(path, "rb") as file:
            tomllib.load(file)
    except (ValueError, RecursionError) as error:
        return f"not TOML: {error}"
    return ""


def _yaml(path: str) -> str:
    try:
        import yaml
    except ImportError:
        return ""
    try:
        with open(path, encoding="utf-8") as file:
            for _ in yaml.parse(file):
                pass
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return "not YAML: " + " ".join(str(error).split())
    return ""


def _by(*words: str) -> Callable[[str], str]:
    """What a program says of a file; nothing where the program is not there."""

    def check(path: str) -> str:
        if not shutil.which(words[0]):
            return ""
        ran = subprocess.run([*words, path], capture_output=True, text=True, errors="replace", timeout=CALL_S)
        return " ".join(ran.stderr.split())[:500] or "it cannot be read" if ran.returncode else ""

    return check


CHECKS: Final = {
    ".py": _python,
    ".json": _json,
    ".toml": _toml,
    ".yaml": _yaml,
    ".yml": _yaml,
    ".sh": _by("bash", "-n"),
    ".js": _by("node", "--check"),
    ".mjs": _by("node", "--check"),
    ".cjs": _by("node", "--check"),
}

if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))

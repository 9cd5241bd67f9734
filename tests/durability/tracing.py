"""The system calls of a real program as steps, and the disk they leave behind when the power goes."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

STORE = "medbay.db"
WAL = "medbay.db-wal"
FILES = (STORE, WAL, "medbay.db-journal")  # not the shared memory: it is made anew from the others
TRACED = "pwrite64,write,fdatasync,fsync,ftruncate,openat,unlink,execve"

_WHOLE = re.compile(r"(\d+) +(\w+)\((.*)\) += (-?\d+)")
_BEGUN = re.compile(r"(\d+) +(\w+)\((.*) <unfinished \.\.\.>")
_RESUMED = re.compile(r"(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (-?\d+)")
_FILE = re.compile(r"(\d+)<((?:\\x[0-9a-f]{2})*)>")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')

Kind = Literal["write", "truncate", "sync", "make", "remove", "say", "start"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing a program did to a file, told its user, or started."""

    kind: Kind
    name: str = ""  # of the file, without its directory
    data: bytes = b""
    at: int = 0  # where it was written, or the new size


def traced(program: Sequence[str], home: Path) -> list[Step]:
    """Run a program below a directory, and see what it did; skips where nothing can be traced."""
    if shutil.which("strace") is None:
        pytest.skip("NO STRACE: what is synced cannot be shown; install the package strace")
    record = home / "trace"
    command = ["strace", "-f", "-y", "-xx", "-s", "200000", "-e", f"trace={TRACED}", "-o", str(record), *program]
    done = subprocess.run(command, cwd=home, capture_output=True, timeout=120, check=False)
    if b"ptrace" in done.stderr and b"not permitted" in done.stderr:
        pytest.skip("STRACE MAY NOT TRACE HERE: what is synced cannot be shown")
    assert done.returncode == 0, done.stderr.decode()
    return list(steps_in(record.read_text(encoding="ascii").splitlines()))


def python(script: str) -> list[str]:
    """The command of a script in this interpreter."""
    return [sys.executable, "-c", script]


def steps_in(lines: Sequence[str]) -> Iterator[Step]:
    """The steps in a record of strace: each where its call returned, but a start where it was called.

    Who starts a process goes on as soon as that has begun: what it does then may be recorded before the call returns.
    """
    begun: dict[tuple[str, str], str] = {}
    for at, line in enumerate(lines):
        if (found := _BEGUN.fullmatch(line)) is not None:
            begun[found[1], found[2]] = found[3]
            if found[2] == "execve" and _returns_well(lines[at + 1 :], found[1]):
                yield from _steps_of("execve", found[3])
            continue
        if (found := _RESUMED.match(line)) is not None:
            pid, call, rest, result = found.groups()
            arguments = begun.pop((pid, call)) + rest
            if call == "execve":
                continue
        elif (found := _WHOLE.match(line)) is not None:
            pid, call, arguments, result = found.groups()
        else:
            continue
        if int(result) >= 0:
            yield from _steps_of(call, arguments)


def _returns_well(later: Sequence[str], pid: str) -> bool:
    """Whether the call of this process that is under way starts what it should."""
    returned = (found for line in later if (found := _RESUMED.match(line)) is not None and found[1] == pid)
    return any(found[2] == "execve" and int(found[4]) >= 0 for found in itertools.islice(returned, 1))


def _steps_of(call: str, arguments: str) -> Iterator[Step]:
    texts = [bytes.fromhex(each.replace("\\x", "")) for each in _TEXT.findall(arguments)]
    file = _FILE.match(arguments)
    path = bytes.fromhex(file[2].replace("\\x", "")).decode() if file else ""
    name = os.path.basename(path)
    named = os.path.basename(texts[0].decode(errors="replace")) if texts else ""
    match call:
        case "pwrite64" if name in FILES:
            yield Step(kind="write", name=name, data=texts[0], at=int(arguments.rsplit(", ", 1)[1]))
        case "ftruncate" if name in FILES:
            yield Step(kind="truncate", name=name, at=int(arguments.rsplit(", ", 1)[1]))
        case "fdatasync" | "fsync":
            yield Step(kind="sync", name=name)
        case "openat" if "O_CREAT" in arguments and named in FILES:
            yield Step(kind="make", name=named)
        case "unlink" if named in FILES:
            yield Step(kind="remove", name=named)
        case "write" if file is not None and file[1] == "1" and path.startswith("pipe:"):
            yield Step(kind="say", data=texts[0])
        case "execve":
            yield Step(kind="start", name=named, data=b" ".join(texts[1:]))


@dataclass(slots=True)
class Disk:
    """What is on the disk for certain, and what is only on its way there."""

    directory: str
    files: dict[str, bytes] = field(default_factory=dict)
    pending: list[Step] = field(default_factory=list)

    def take(self, step: Step) -> None:
        """A sync brings what is on its way to the disk, file by file; names belong to their directory."""
        if step.kind in ("write", "truncate", "make", "remove"):
            self.pending.append(step)
        elif step.kind == "sync":
            arrived = [each for each in self.pending if self._belongs(each) == step.name]
            self.pending = [each for each in self.pending if self._belongs(each) != step.name]
            self.files = changed(self.files, arrived)

    def unsynced(self, name: str) -> list[Step]:
        """The writes to a file that a loss of power would take back."""
        return [each for each in self.pending if each.name == name and each.kind == "write"]

    def _belongs(self, step: Step) -> str:
        return self.directory if step.kind in ("make", "remove") else step.name


def changed(files: dict[str, bytes], steps: Sequence[Step]) -> dict[str, bytes]:
    """The files after these steps."""
    after = dict(files)
    for step in steps:
        before = after.get(step.name, b"")
        match step.kind:
            case "make":
                after.setdefault(step.name, b"")
            case "remove":
                after.pop(step.name, None)
            case "truncate":
                after[step.name] = before[: step.at].ljust(step.at, b"\0")
            case _:
                end = step.at + len(step.data)
                after[step.name] = before[: step.at].ljust(step.at, b"\0") + step.data + before[end:]
    return after

"""The same load as `job.sh`, as a function that a warm worker process calls. Copied beside the store."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path


def note(word: str) -> None:
    """One line in one write."""
    named = (os.environ[name] for name in ("MEDBAY_TASK", "MEDBAY_ATTEMPT", "MEDBAY_KEY", "MEDBAY_ATTEMPT_KEY"))
    task, attempt, key, attempt_key = named
    line = f"{word} {task} {attempt} {time.time_ns() // 1000} {key} {attempt_key} -\n"
    descriptor = os.open("record", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def work(kind: str, seconds: float) -> float:
    """Sleep, and fail the first time if it is flaky."""
    task = os.environ["MEDBAY_TASK"]
    with open(f"locks/{task}", "a", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            note("double")
        note("start")
        time.sleep(seconds)
        mark = Path(f"state/work.{task}")
        if kind == "flaky" and not mark.exists():
            mark.touch()
            raise RuntimeError("something odd happened")
        note("end")
    return seconds

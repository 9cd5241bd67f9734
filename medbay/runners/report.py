"""Turns how a command ended into an outcome: exit code or signal, why we ended it, what it said itself."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from msgspec.structs import replace

from medbay.core.attempt.standstill import LAST_STARTED
from medbay.core.outcome import (
    TAIL_BYTES,
    Cancelled,
    Failed,
    Outcome,
    Output,
    Requeued,
    Stalled,
    Succeeded,
    TimedOut,
)
from medbay.core.workflow import shapes, written
from medbay.core.workflow.written import FilesLeft
from medbay.foreign import read_regular
from medbay.places.logs import append_note, lines_before_tail, read_ends
from medbay.places.protocol import Launch
from medbay.places.tree import Exit, TreeEnd, Why
from medbay.runners.result import Result, read_answer, read_result, taken_as_failed

TRY_AGAIN: Final = 75  # EX_TEMPFAIL: "try me again, this was not my failure"
_STORY_FOLDER: Final = "MEDBAY_STORY_DIR"  # the variable of a role that names the folder of its story
_SHELL_SIGNAL: Final = 128  # what a shell adds to the number of the signal that ended its command


def report(launch: Launch, end: TreeEnd) -> Outcome:
    """The outcome of a command that is gone; notes for a reader go to the end of its log first, if it has one."""
    ended, why, log = end.exit, end.why, end.log
    result = read_result(launch.result_path) if end.has_result else Result()
    if result.unclear and ended.code == 0:
        result = taken_as_failed(result)
    complaint = f"result file ignored: {result.ignored}" if result.ignored else ""
    written = _written_at(log)
    for line in (end.note, _limit_words(launch, why, end.words), complaint):
        if line and log:
            append_note(log, line)
    head, tail, total_bytes = read_ends(log) if log else ("", "", 0)
    output = Output(
        head=head,
        tail=tail,
        total_bytes=total_bytes,
        lines_before=lines_before_tail(log, total_bytes) if log and total_bytes > TAIL_BYTES else None,
        log_path=launch.log_path,
        result=_said(launch, result) if launch.answer_path is None else {"answer": read_answer(launch.answer_path)},
    )
    if why is None:
        return ended_itself(launch, ended, output=output, result=result)
    made = _ended_by_us(launch, ended, why=why, words=end.words, output=output)
    if isinstance(made, TimedOut) and total_bytes and written is not None:  # our own note is the newest line of its log
        return replace(made, silent_s=max(0.0, (_written_at(log) or written) - written))
    return made


def _said(launch: Launch, result: Result) -> Mapping[str, Any] | None:
    """What it said of itself, and what it left in the folder of its story."""
    folder = launch.env.get(_STORY_FOLDER)
    left = _left_in(folder) if folder else {}
    return {**(result.fields or {}), **left} if left else result.fields


def _left_in(folder: str) -> dict[str, Any]:
    """What a role left in the folder of its story: hostile input, which is named where it is wrong."""
    texts = {}
    for name in shapes.SHAPES:
        try:
            texts[name] = _artifact(os.path.join(folder, shapes.FOLDER, name))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            return FilesLeft(malformed=f"{name} cannot be read: {str(error)[:200]}").as_result()
    ours: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        ours = written.known(_artifact(os.path.join(folder, written.WRITTEN)))
    return written.left_by_role(texts, ours).as_result()


def _artifact(path: str) -> str:
    return read_regular(path, 4 * shapes.FILE_MAX).decode("utf-8", "replace")


def _written_at(log: str | None) -> float | None:
    """When a log was written last; None where there is none."""
    if log is None:
        return None
    with suppress(OSError):
        return os.stat(log).st_mtime
    return None


def ended_itself(launch: Launch, ended: Exit, *, output: Output, result: Result) -> Outcome:
    """The outcome of what ended by itself, with its output and what it said of itself."""
    if ended.code is None and ended.signal is None:
        # The worker is alive, so this is no lost attempt; as a failure it is bounded, whatever takes the status.
        return Failed(output=replace(output, tail=output.tail + "\n[medbay] the exit status was taken by another"))
    if ended.code == 0 and not result.says_failed:
        return Succeeded(output=output)
    if ended.code == TRY_AGAIN:
        return Requeued(
            asked=True,
            why=result.summary or "exit 75",
            retry_after=result.retry_after,
            output=output,
            exit_code=TRY_AGAIN,
        )
    cpu_limit_hit = launch.cpu_s is not None and (
        ended.signal == signal.SIGXCPU or ended.code == _SHELL_SIGNAL + signal.SIGXCPU
    )
    return Failed(output=output, exit_code=ended.code, signal=ended.signal, cpu_limit_hit=cpu_limit_hit)


def _ended_by_us(launch: Launch, ended: Exit, *, why: Why, words: str, output: Output) -> Outcome:
    match why:
        case Why.CANCEL:
            return Cancelled(output=output)
        case Why.HAND_BACK:
            return Requeued(asked=False, why=words, output=output, exit_code=ended.code)
        case Why.TIME:
            limit_s = launch.timeout_s or 0.0
            return TimedOut(limit_s=limit_s, exit_code=ended.code, signal=ended.signal, output=output)
        case Why.STALL:
            return Stalled(silent_s=launch.stall_s or 0.0, output=output)
        case Why.MEMORY | Why.CPU | Why.LOG:
            return Failed(
                output=output,
                exit_code=ended.code,
                signal=ended.signal,
                memory_limit_hit=why is Why.MEMORY,
                cpu_limit_hit=why is Why.CPU,
                log_limit_hit=why is Why.LOG,
            )


def _limit_words(launch: Launch, why: Why | None, words: str) -> str:
    match why:
        case Why.STALL:
            return f"ended: no progress for {launch.stall_s} s" + (f"; {LAST_STARTED}{words}" if words else "")
        case Why.TIME:
            return f"ended: time limit of {launch.timeout_s} s"
        case Why.MEMORY:
            return f"ended: memory limit of {launch.memory_bytes} bytes"
        case Why.CPU:
            return f"ended: CPU limit of {launch.cpu_s} s"
        case Why.LOG:
            return "ended: log limit, and this file system cannot drop the middle of a file"
        case Why.CANCEL | Why.HAND_BACK | None:
            return ""

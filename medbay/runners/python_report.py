"""Turns the answer of a worker process, or its end without one, into an outcome."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from medbay.core.outcome import Failed, Outcome, Output, Requeued, Succeeded
from medbay.runners.logs import append_note
from medbay.runners.protocol import Launch
from medbay.runners.python_process import CallAnswer
from medbay.runners.report import Exit, ended_itself, report
from medbay.runners.result import Result

_NO_RESULT: Final = Result()


def outcome_of(launch: Launch, answer: CallAnswer) -> Outcome:
    """As a command with this exit code would have ended, with what the function said as its result."""
    if answer.left:
        append_note(launch.log_path, f"left running: {answer.left}; the worker process was ended")
    if answer.text is not None and not answer.has_result and not answer.left:  # all is known: no file is opened
        output = Output(
            tail=answer.text,
            total_bytes=answer.total_bytes,
            log_path=str(launch.log_path),
            result=_said(answer) or None,
        )
        ended = ended_itself(launch, Exit(code=answer.code), output=output, result=_NO_RESULT)
        if not isinstance(ended, Requeued):
            return ended
    else:
        ended = report(launch, Exit(code=answer.code), why=None, log=launch.log_path)
    result = {**(ended.output.result or {}), **_said(answer)}
    output = replace(ended.output, result=result or None)
    if isinstance(ended, Requeued) and answer.retry_after is not None:
        return replace(ended, output=output, why=answer.summary or ended.why, retry_after=answer.retry_after)
    if isinstance(ended, Requeued):
        return replace(ended, output=output, why=answer.summary or ended.why)
    return replace(ended, output=output)


def ended_in_call(launch: Launch, ended: Outcome, *, cut_off: bool) -> Outcome:
    """The process was gone before the function returned: no success, whatever its exit code."""
    if cut_off:
        why = "the function closed the connection of its process and was ended"
    elif isinstance(ended, Succeeded):
        why = "the process ended with exit code 0 before the function returned"
    else:
        return ended
    append_note(launch.log_path, why)
    said = {"type": "medbay.ProcessEnded", "message": why, "traceback": "", "causes": []}
    return Failed(output=replace(ended.output, result={**(ended.output.result or {}), **said}))


def _said(answer: CallAnswer) -> dict[str, Any]:
    """The value of a success, the exception of a failure, the wish of one that asks to be tried again."""
    if answer.error is not None:
        return dict(answer.error)
    if answer.code == 0:
        return {"value": answer.value}
    wish = {"summary": answer.summary, "retry_after": answer.retry_after}
    return {name: value for name, value in wish.items() if value}

"""What a role answers at the end of its part: read strictly, a wrong shape is said with its place, never dropped."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import replace

from medbay.core import agent
from medbay.core.model import Task
from medbay.core.outcome import Failed, Outcome, Succeeded
from medbay.core.untrusted import line
from medbay.core.workflow import written
from medbay.core.workflow.records import OWNER, DecisionKind

VERDICTS: Final = "MEDBAY_VERDICTS"  # the variable that names the verdicts a role may give
REVIEWER: Final = "review-"  # what the role of a reviewer begins with
ANSWER: Final = "answer"  # what a result holds a role's answer under
_SUMMARY_MAX: Final = 2_000
_NOT_RUN: Final = (126, 127)
_BREAKS: Final = re.compile(r"[\s-]+")
_TEXT = Annotated[str, Meta(max_length=20_000)]


class ShownEvidence(Struct, frozen=True, kw_only=True):
    """What shows that a criterion holds."""

    criterion: Annotated[int, Meta(ge=1)]
    shows: _TEXT
    path: _TEXT = ""


class WantedDecision(Struct, frozen=True, kw_only=True):
    """Something a role wants decided."""

    question: Annotated[str, Meta(min_length=1, max_length=2_000)]
    options: tuple[str, ...] = ()
    default: str = ""
    kind: DecisionKind | None = None


class NewPart(Struct, frozen=True, kw_only=True):
    """One of the stories that a story is split into."""

    title: Annotated[str, Meta(min_length=1, max_length=500)]
    description: _TEXT = ""
    criteria: tuple[str, ...] = ()


class Usage(Struct, frozen=True, kw_only=True):
    """What it cost; `tokens` where in and out are not told apart."""

    tokens: Annotated[int, Meta(ge=0)] = 0
    tokens_in: Annotated[int, Meta(ge=0)] = 0
    tokens_out: Annotated[int, Meta(ge=0)] = 0


class RoleAnswer(Struct, frozen=True, kw_only=True):
    """The answer of one role."""

    verdict: str
    summary: str = ""
    artifacts: tuple[str, ...] = ()
    evidence: tuple[ShownEvidence, ...] = ()
    decisions: tuple[WantedDecision, ...] = ()
    criteria: tuple[str, ...] = ()  # of a story that is written or refined
    description: _TEXT = ""
    parts: tuple[NewPart, ...] = ()  # of a story that is split
    learnings: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    calls: int = 0  # of tools; what an agent's record says
    model: str = ""

    @property
    def spent(self) -> tuple[int, int]:
        """Tokens in and out."""
        used = self.usage
        return (used.tokens_in, used.tokens_out) if used.tokens_in or used.tokens_out else (used.tokens, 0)


class MalformedAnswer(Exception):
    """An answer that does not fit, in words that quote the place."""


def word(verdict: str) -> str:
    """A verdict as it is compared: capital letters, underscores."""
    return _BREAKS.sub("_", verdict.strip()).upper()


def read(text: str, verdicts: Sequence[str]) -> RoleAnswer:
    """The answer in a text, its verdict one of these; raises MalformedAnswer."""
    try:
        found = msgspec.json.decode(text, type=RoleAnswer)
    except msgspec.ValidationError as error:
        raise MalformedAnswer(f"the answer does not fit: {error}") from None
    except msgspec.DecodeError as error:
        raise MalformedAnswer(f"the answer is no JSON object: {error}") from None
    given = word(found.verdict)
    known = {each: each for each in verdicts} | {f"NEEDS_{each}": each for each in verdicts}
    if given not in known:
        ways = ", ".join(verdicts)
        raise MalformedAnswer(f"the answer does not fit: `{line(found.verdict, 80)}` at `$.verdict` is none of {ways}")
    return replace(found, verdict=known[given], summary=found.summary[:_SUMMARY_MAX])


def delivered(task: Task, outcome: Outcome) -> Outcome:
    """How an attempt of a role ended: an answer that can be read is a success, whatever the verdict.

    A reviewer that is a command may say it all by its exit status.
    """
    if task.owner_kind != OWNER or not isinstance(outcome, Succeeded | Failed):
        return outcome
    told = (outcome.output.result or {}).get(ANSWER)
    if isinstance(told, str):
        return _told(task, outcome, told)
    if task.role.startswith(REVIEWER) and not agent.is_agents(task):
        return _by_status(outcome)
    if isinstance(outcome, Failed):
        return outcome
    return _malformed(outcome, "there is no answer: write a JSON object with `verdict` to the file MEDBAY_RESULT names")


def verdicts_of(task: Task) -> list[str]:
    """The verdicts that the role of a task may give."""
    return dict(task.env).get(VERDICTS, "PASS,FAIL,ERROR").split(",")


def _told(task: Task, outcome: Succeeded | Failed, told: str) -> Outcome:
    result = outcome.output.result or {}
    try:
        found = read(told, verdicts_of(task))
    except MalformedAnswer as error:
        return _malformed(outcome, str(error)) if isinstance(outcome, Succeeded) else outcome
    if isinstance(outcome, Failed) and found.verdict == "PASS":
        return outcome  # it says one thing and its exit status another
    if wrong := result.get(written.MALFORMED):
        return _malformed(outcome, str(wrong))
    found = _with_files(found, result)
    return _succeeded(outcome, {**msgspec.to_builtins(found), **_cost(outcome)})


def _with_files(found: RoleAnswer, result: Mapping[str, Any]) -> RoleAnswer:
    """An answer with the evidence that the role left as a file."""
    said = {(each.criterion, each.path) for each in found.evidence}
    shown = msgspec.convert(result.get(written.SHOWN, ()), tuple[ShownEvidence, ...])
    more = tuple(each for each in shown if (each.criterion, each.path) not in said)
    return replace(found, evidence=(*found.evidence, *more)) if more else found


def _cost(outcome: Succeeded | Failed) -> dict[str, Any]:
    """What the record of an agent says it cost, which stands over its own words."""
    known = agent.agent_facts(outcome.output)
    if known is None:
        return {}
    _, model, tokens_in, tokens_out, calls = known
    return {"usage": {"tokens_in": tokens_in, "tokens_out": tokens_out}, "calls": calls, "model": model}


def _by_status(outcome: Succeeded | Failed) -> Outcome:
    """Exit status 0 passes; what could not be run, or was ended by a signal, is an error; anything else fails."""
    if isinstance(outcome, Succeeded):
        return _succeeded(outcome, {"verdict": "PASS"})
    if outcome.spawn_error:
        return outcome
    limited = outcome.memory_limit_hit or outcome.cpu_limit_hit or outcome.log_limit_hit
    ran = outcome.exit_code is not None and outcome.exit_code not in _NOT_RUN and outcome.signal is None
    said = outcome.output.tail.strip()[-_SUMMARY_MAX:]
    return _succeeded(outcome, {"verdict": "FAIL" if ran and not limited else "ERROR", "summary": said})


def _succeeded(outcome: Succeeded | Failed, answer: Mapping[str, Any]) -> Succeeded:
    result = {**(outcome.output.result or {}), ANSWER: json.dumps(answer, ensure_ascii=False)}
    result.pop("category", None)
    return Succeeded(output=replace(outcome.output, result=result), exit_code=outcome.exit_code or 0)


def _malformed(outcome: Succeeded | Failed, why: str) -> Failed:
    said = {**(outcome.output.result or {}), "outcome": "failed", "category": "MALFORMED_OUTPUT", "summary": why}
    return Failed(output=replace(outcome.output, result=said), exit_code=outcome.exit_code)

"""The bundle an agent answers with: its schema, and reading it. Any text may come; nothing in it is obeyed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from medbay.core.redaction import redact
from medbay.core.untrusted import line, lines, parsed

ANSWER_MAX: Final = 256 * 1024  # characters
_WHY_MAX: Final = 500
_IDS_SHOWN: Final = 3

_Title = Annotated[str, Meta(max_length=500, pattern=r"\S")]
_Text = Annotated[str, Meta(max_length=20_000)]
_Criterion = Annotated[str, Meta(max_length=2_000, pattern=r"\S")]
_Id = Annotated[str, Meta(max_length=100, pattern=r"\S")]
_Share = Annotated[float, Meta(ge=0, le=1)]


class BundleMetadata(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which captures were used, and what the result is meant to become."""

    capture_ids: Annotated[tuple[_Id, ...], Meta(min_length=1, max_length=1_000)]
    suggested_target: Annotated[str, Meta(max_length=100)] = "task"


class BundleCandidate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One candidate objective."""

    title: _Title
    description: _Text = ""
    acceptance_criteria: Annotated[tuple[_Criterion, ...], Meta(min_length=1, max_length=50)]
    captures: Annotated[tuple[_Id, ...], Meta(max_length=1_000)] = ()
    confidence: _Share = 0.0


class BundleNotes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How sure the agent is, and what was not clear to it."""

    confidence: _Share = 0.0
    ambiguities: Annotated[tuple[_Text, ...], Meta(max_length=100)] = ()


class Bundle(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a triage agent answers with."""

    title: _Title
    metadata: BundleMetadata
    content: Annotated[tuple[BundleCandidate, ...], Meta(min_length=1, max_length=100)]
    notes: BundleNotes = BundleNotes()


class BundleRefused(Exception):
    """Why the gate does not let a bundle pass."""


def schema() -> dict[str, Any]:
    """The JSON schema of a bundle, as it is published."""
    return msgspec.json.schema(Bundle)


def read(answer: str, known: Collection[str]) -> Bundle:
    """The bundle in an answer about these captures, redacted; raises BundleRefused with the reason."""
    if len(answer) > ANSWER_MAX:
        raise BundleRefused(f"the answer is longer than {ANSWER_MAX // 1024} KB")
    if not answer.strip():
        raise BundleRefused("the answer is empty")
    try:
        found = msgspec.convert(_object(answer), Bundle)
        found = msgspec.convert(_clean(msgspec.to_builtins(found)), Bundle)
    except ValueError as error:  # also what msgspec raises
        raise BundleRefused(line(redact(f"the bundle does not fit its schema: {error}"), _WHY_MAX)) from None
    unknown = [each for each in used(found) if each not in known]
    if unknown:
        named = ", ".join(line(each, 40) for each in unknown[:_IDS_SHOWN])
        raise BundleRefused(f"it names captures that were not in the snapshot: {named}")
    return found


def used(bundle: Bundle) -> tuple[str, ...]:
    """The ids of all captures a bundle names, each once."""
    own = (each for candidate in bundle.content for each in candidate.captures)
    return tuple(dict.fromkeys((*bundle.metadata.capture_ids, *own)))


def _object(answer: str) -> dict[str, Any]:
    """The one object of an answer, which may stand in a fence; what the call cost is not part of the bundle."""
    body = answer[answer.find("{") : answer.rfind("}") + 1]
    found = parsed(body) if body else None
    if not isinstance(found, dict):
        raise ValueError("the answer is not one JSON object")
    found.pop("usage", None)
    return found


def _clean(value: Any) -> Any:
    """The same without secrets and control characters in its texts."""
    if isinstance(value, str):
        return lines(redact(value))
    if isinstance(value, dict):
        return {key: _clean(each) for key, each in value.items()}
    return [*map(_clean, value)] if isinstance(value, list | tuple) else value

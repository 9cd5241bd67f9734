"""The shapes of the files that show what a phase did, and reading such files. Anybody may have written them.

Each shape is published as a JSON schema; what does not fit it is malformed output, with the failing path quoted.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Final, Literal

import msgspec
import yaml
from msgspec import Meta, Struct

from medbay.core.untrusted import line

FOLDER: Final = "_implementation"
STORY: Final = "story.md"
PROOF: Final = "PROOF.md"
ELAB: Final = "ELAB.yaml"
VERIFICATION: Final = "VERIFICATION.yaml"
GATE: Final = "GATE.yaml"
EVIDENCE: Final = "EVIDENCE.yaml"
ERROR_LOG: Final = "ERROR-LOG.yaml"
TOKEN_LOG: Final = "TOKEN-LOG.md"
TRACE: Final = "TRACE.jsonl"
METRICS: Final = "METRICS.yaml"
LOCK: Final = ".phase-lock"

FILE_MAX: Final = 1024 * 1024  # characters
_WHY_MAX: Final = 500

_Name = Annotated[str, Meta(min_length=1, max_length=200)]
_Words = Annotated[str, Meta(max_length=20_000)]
_Count = Annotated[int, Meta(ge=0)]
_Moment = Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$")]
_Verdict = Annotated[str, Meta(pattern=r"^[A-Z][A-Z_-]{1,39}$")]
_Digest = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
_Number = Annotated[int, Meta(ge=1, le=1_000)]


class MalformedArtifact(Exception):
    """An artifact that does not have its published shape; the message quotes the failing path."""


class Elaboration(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """ELAB.yaml: what the audit of a story found."""

    story_id: _Name
    verdict: _Verdict
    summary: _Words = ""
    findings: tuple[_Words, ...] = ()
    elaborated_at: _Moment


class WorkerAnswer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one reviewer said."""

    name: _Name
    verdict: Literal["PASS", "FAIL", "ERROR", "TIMEOUT", "STOPPED"]
    summary: _Words = ""
    duration_ms: _Count = 0
    required: bool = False


class VerificationFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """VERIFICATION.yaml: the answers of all reviewers, added up."""

    story_id: _Name
    verdict: Literal["PASS", "FAIL", "ERROR"]
    round: _Number = 1
    summary: _Words = ""
    workers: tuple[WorkerAnswer, ...]
    warnings: tuple[_Words, ...] = ()
    verified_at: _Moment


class CriterionJudged(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One acceptance criterion at the gate."""

    criterion: _Number
    text: _Words
    shown: bool
    why: _Words = ""


class GateDecision(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """GATE.yaml: what the gate decided, criterion by criterion."""

    story_id: _Name
    verdict: _Verdict
    summary: _Words = ""
    criteria: tuple[CriterionJudged, ...] = ()
    decided_at: _Moment


class EvidenceShown(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What shows one criterion: where it is, which phase left it, and its hash at that time."""

    criterion: _Number
    shows: _Words
    path: _Name
    phase: _Name
    hash: _Digest


class EvidenceList(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """EVIDENCE.yaml: what shows each acceptance criterion."""

    story_id: _Name
    evidence: tuple[EvidenceShown, ...] = ()


class PhaseError(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One failed run of a phase."""

    phase: _Name
    type: _Name
    message: _Words = ""
    run: _Number = 1
    at: _Moment


class ErrorLog(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """ERROR-LOG.yaml: the failures that opened the breaker of a phase."""

    story_id: _Name
    phase: _Name
    type: _Name
    errors: tuple[PhaseError, ...]


class MetricsTotals(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a story took in all."""

    tokens: _Count
    duration_ms: _Count
    agent_spawns: _Count
    tool_calls: _Count


class PhaseMetrics(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one run of a phase took."""

    name: _Name
    status: _Name
    duration_ms: _Count
    tokens_input: _Count
    tokens_output: _Count
    agent_spawns: _Count
    tool_calls: _Count


class Metrics(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """METRICS.yaml: the figures of a story."""

    story_id: _Name
    started_at: _Moment | None
    completed_at: _Moment | None
    status: _Name
    totals: MetricsTotals
    phases: tuple[PhaseMetrics, ...] = ()


Artifact = Elaboration | VerificationFile | GateDecision | EvidenceList | ErrorLog | Metrics

SHAPES: Final[dict[str, type[Artifact]]] = {
    ELAB: Elaboration,
    VERIFICATION: VerificationFile,
    GATE: GateDecision,
    EVIDENCE: EvidenceList,
    ERROR_LOG: ErrorLog,
    METRICS: Metrics,
}


class _Loader(yaml.SafeLoader):
    """YAML whose times stay texts, as they were written."""


class _Dumper(yaml.SafeDumper):
    """YAML whose times need no quotes."""


for _made in (_Loader, _Dumper):
    _made.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:timestamp"]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def schema(name: str) -> dict[str, Any]:
    """The JSON schema of an artifact, as it is published."""
    return msgspec.json.schema(SHAPES[name])


def check(name: str, text: str) -> str:
    """What is wrong with a file of this name, with the failing path; empty where it fits, or has no shape."""
    try:
        if name in SHAPES:
            read(name, text)
    except MalformedArtifact as error:
        return str(error)
    return ""


def read(name: str, text: str) -> Artifact:
    """The artifact in a file of this name; raises MalformedArtifact."""
    if len(text) > FILE_MAX:
        raise MalformedArtifact(f"{name} is longer than {FILE_MAX // 1024} KB")
    try:
        found = yaml.load(text, _Loader)  # a SafeLoader
        return msgspec.convert(found, SHAPES[name])
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark is not None else ""
        deep = "it is nested too deep" if isinstance(error, RecursionError) else None
        why = deep or getattr(error, "problem", None) or error
        shape = isinstance(error, msgspec.ValidationError)
        said = f"{name}: {why}" if shape else f"{name} is not YAML{where}: {why}"
        raise MalformedArtifact(line(said, _WHY_MAX)) from None


def render(artifact: Artifact) -> str:
    """The text of an artifact: YAML with its fields in their order."""
    data = json.loads(msgspec.json.encode(artifact))  # plain values, which the dumper knows
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)

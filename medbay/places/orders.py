"""What travels to a place elsewhere and back: an order says what to run, a report how it ended. Bounded, versioned.

Secrets do not travel: the machine that runs it reads `env_file` and the variables of `env_from` from its own
environment. A machine of another version refuses what it does not understand.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from medbay.core.attempt.checks import outcome_of
from medbay.core.model import CheckResult
from medbay.core.outcome import (
    HEAD_BYTES,
    TAIL_BYTES,
    Cancelled,
    Failed,
    Lost,
    Outcome,
    Output,
    OverBudget,
    Requeued,
    Stalled,
    Succeeded,
    TimedOut,
)
from medbay.errors import SpawnFailed
from medbay.places.protocol import Launch

VERSION: Final = 1
RESULT_BYTES_MAX: Final = 65_536  # a larger result stays where it was made, and is named
CHECKS_BYTES_MAX: Final = 262_144  # of the output of all checks together
ORDER_BYTES_MAX: Final = 1_500_000  # the server takes no more than 2 MB in one payload
_KEPT_OF_RESULT: Final = ("outcome", "category", "summary", "question", "retry_after", "usage", "agent")
_KINDS: Final[dict[str, type[Any]]] = {
    each.__name__: each for each in (Succeeded, Failed, TimedOut, Stalled, Lost, Cancelled, OverBudget, Requeued)
}


class AttemptReport(Struct, frozen=True, kw_only=True):
    """How an attempt ended, and how its checks did where its work had succeeded."""

    outcome: Outcome
    host: str
    checks: tuple[CheckResult, ...] = ()

    def of_part(self, part: str) -> Outcome:
        """How one check ended; what was never begun there is an error of the check, not of the work."""
        for each in self.checks:
            if part == f"check-{each.position}":
                return outcome_of(each)
        return Failed(spawn_error=f"{part} was not run on {self.host}")


class _Order(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    version: int
    launch: dict[str, Any]


class _Report(Struct, frozen=True, kw_only=True):
    version: int
    kind: str
    outcome: dict[str, Any]
    host: str
    checks: list[dict[str, Any]] = []


def write_order(launch: Launch) -> bytes:
    """An order for this launch; raises SpawnFailed where it is too large to be sent."""
    text = _encoded({"version": VERSION, "launch": _plain(launch)})
    if len(text) > ORDER_BYTES_MAX:
        raise SpawnFailed(f"what it is told has {len(text)} bytes, and at most {ORDER_BYTES_MAX} can be sent elsewhere")
    return text


def read_order(text: bytes, *, folder: Path) -> Launch:
    """What is to be run here, with its files below this folder; raises SpawnFailed for one of another version."""
    try:
        order = msgspec.json.decode(text, type=_Order)
    except msgspec.DecodeError as error:
        raise SpawnFailed(f"this worker does not understand what it was sent ({error}); {_UPDATE}") from error
    if order.version != VERSION:
        versions = f"the engine speaks version {order.version} of the protocol, this worker version {VERSION}"
        raise SpawnFailed(f"{versions}; {_UPDATE}")
    fields = order.launch
    unknown = sorted(fields.keys() - set(Launch.__struct_fields__))
    if unknown:
        raise SpawnFailed(f"this worker does not know {', '.join(unknown)}, which the engine asks for; {_UPDATE}")
    name = f"{fields['store_id']}/{fields['task_id']}/{fields['number']}"
    own = {"log_path": f"{folder}/{name}.log", "result_path": f"{folder}/{name}.result.json"}
    launch: Launch = msgspec.convert({**fields, **own}, Launch, strict=False, dec_hook=_decoded)
    return launch


def write_report(report: AttemptReport) -> bytes:
    """A report, bounded."""
    outcome = msgspec.to_builtins(report.outcome, enc_hook=str)
    checks = [msgspec.to_builtins(each) for each in report.checks]
    room = min(HEAD_BYTES, CHECKS_BYTES_MAX // (2 * max(1, len(checks))))
    for each in checks:
        each["head"], each["tail"] = first_bytes(each["head"], room), last_bytes(each["tail"], room)
    kind = type(report.outcome).__name__
    made = {"version": VERSION, "kind": kind, "outcome": outcome, "host": report.host, "checks": checks}
    return _encoded(made)


def within_bounds(output: Output, *, host: str, result_path: str) -> Output:
    """What is sent of an output; a result that is too large is kept in this file, and named."""
    result = output.result
    if result is not None and len(whole := _encoded(result)) > RESULT_BYTES_MAX:
        left = {"left_at": _left_at(result_path, whole, host), "bytes": len(whole)}
        kept = {name: each for name, each in result.items() if name in _KEPT_OF_RESULT}
        result = {**kept, **left} if len(_encoded(kept)) <= RESULT_BYTES_MAX else left
    head, tail = first_bytes(output.head, HEAD_BYTES), last_bytes(output.tail, TAIL_BYTES)
    return replace(output, head=head, tail=tail, result=result)


def first_bytes(text: str, most: int) -> str:
    """So much of its beginning as has at most so many bytes."""
    return text if len(text) * 4 <= most else text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")


def last_bytes(text: str, most: int) -> str:
    """So much of its end as has at most so many bytes."""
    return text if len(text) * 4 <= most else text.encode("utf-8", "replace")[-most:].decode("utf-8", "ignore")


def read_report(text: bytes) -> AttemptReport:
    """How it ended elsewhere; what cannot be read is an attempt that was lost."""
    try:
        found = msgspec.convert(json.loads(text), _Report)
        outcome = msgspec.convert(found.outcome, _KINDS[found.kind], strict=False)
        checks = msgspec.convert(found.checks, tuple[CheckResult, ...], strict=False)
    except (ValueError, KeyError) as error:  # what has the wrong shape is a ValueError too
        return AttemptReport(outcome=Lost(why=f"its report cannot be read: {error}"), host="")
    return AttemptReport(outcome=outcome, host=found.host, checks=checks)


def _plain(launch: Launch) -> dict[str, Any]:
    """What differs from an ordinary launch; paths are text, and the files of the engine stay out of it."""
    own = {"log_path", "result_path", "place", "ahead"}
    fields: dict[str, Any] = {}
    for name in Launch.__struct_fields__:
        value = getattr(launch, name)
        if name not in own and value is not None and value not in ("", (), {}, False):
            fields[name] = str(value) if isinstance(value, Path) else msgspec.to_builtins(value, enc_hook=str)
    return fields


def _decoded(kind: type, value: Any) -> Any:
    return Path(value) if kind is Path else value


def _encoded(value: Any) -> bytes:
    """As JSON. Numbers of any size are taken, and halves of characters, both of which results may hold."""
    text = json.dumps(value, default=str, separators=(",", ":"), ensure_ascii=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, default=str, separators=(",", ":")).encode()


def _left_at(path: str, result: bytes, host: str) -> str:
    """Where a result that is too large to be sent is kept."""
    try:
        with open(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "wb"
        ) as file:
            file.write(result)
    except OSError as error:
        return f"nowhere: {host} could not keep it ({error.strerror})"
    return f"{host}:{path}"


_UPDATE: Final = "run the same version of Medbay on the engine and on its workers"

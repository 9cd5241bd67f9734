"""Records to rows and back. The columns of a record's table are its fields, in the same order."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import starmap
from typing import Any, Final

import msgspec
from msgspec import DecodeError, Struct
from msgspec.structs import asdict, astuple

from medbay.core.diagnosis.record import Diagnosis, Location, Pattern, RunnerUp
from medbay.core.model import (
    TASK_FIELDS,
    Attempt,
    Check,
    CheckResult,
    Guidance,
    Option,
    Owner,
    Question,
    Retry,
    Task,
    Worker,
)
from medbay.store.database import Row


def dumps(value: Any) -> str:
    """Compact JSON of what Medbay itself made, keys in order; ASCII, so that no odd byte is refused or lost.

    What the quick encoder does not write the way the library does is left to the library.
    """
    try:
        text = _encode(value)
    except (UnicodeEncodeError, TypeError):  # half of a pair of surrogates; a key that is no text
        return dumps_any(value)
    return text.decode() if text.isascii() else dumps_any(value)


def dumps_any(value: Any) -> str:
    """The same of what a program said: NaN and the infinities are numbers there."""
    return _encode_any(value)


def loads(text: str) -> Any:
    """What `dumps` or `dumps_any` wrote, of whatever version."""
    try:
        return _decode(text)
    except DecodeError:  # half of a pair of surrogates; NaN or an infinity
        return _decode_any(text)


def _as_plain(value: Any) -> Any:
    """What the library does not know: a record is an object of its fields, anything else its text."""
    return asdict(value) if isinstance(value, Struct) else str(value)


_encode: Final = msgspec.json.Encoder(enc_hook=str, order="sorted").encode
_decode: Final = msgspec.json.Decoder().decode
_encode_any: Final = json.JSONEncoder(separators=(",", ":"), sort_keys=True, default=_as_plain).encode
_decode_any: Final = json.JSONDecoder().decode

_Encode = Callable[[Any], Any]
_Decode = Callable[[Any], Any]


def _strings(text: str) -> tuple[str, ...]:
    return tuple(loads(text))


def _command(text: str) -> tuple[str, ...] | str:
    value = loads(text)
    return value if isinstance(value, str) else tuple(value)


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in loads(text))


def _agents(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((name, tuple(needs)) for name, needs in loads(text))


def _guidance(text: str) -> tuple[Guidance, ...]:
    return tuple(starmap(Guidance, loads(text)))


def _checks(text: str) -> tuple[Check, ...]:
    return tuple(Check(each if isinstance(each, str) else tuple(each), required) for each, required in loads(text))


def _encode_checks(checks: tuple[Check, ...]) -> str:
    return dumps([[each.command, each.required] for each in checks]) if checks else "[]"


def encode_guidance(entries: tuple[Guidance, ...]) -> str:
    """Guidance as it is stored."""
    return dumps([*map(astuple, entries)]) if entries else "[]"


def _listed(values: tuple[Any, ...]) -> str:
    return dumps(values) if values else "[]"


_FLAGS: Final = (
    "paused",
    "cancel_requested",
    "ready",
    "recovery",
    "canary",
    "forced",
    "fail_fast",
    "endless",
    "fresh_session",
    "wants_triage",
    "takes_input",
)
_TASK_ENCODERS: Final[dict[str, _Encode]] = {
    "command": dumps,
    "env": _listed,
    "env_from": _listed,
    "tags": _listed,
    "resources": _listed,
    "copies": _listed,
    "guidance": encode_guidance,
    "checks": _encode_checks,
    "agents": _listed,
    **dict.fromkeys(_FLAGS, int),
}
_TASK_DECODERS: Final[dict[str, _Decode]] = {
    "command": _command,
    "env": _pairs,
    "env_from": _strings,
    "tags": _strings,
    "resources": _strings,
    "copies": _strings,
    "guidance": _guidance,
    "checks": _checks,
    "agents": _agents,
}

TASK_COLUMNS: Final = ", ".join(TASK_FIELDS)


@dataclass(frozen=True, slots=True)
class RecordTable:
    """Where records that have a lifecycle are kept: a row each, with a column for every field of the same name."""

    name: str
    columns: tuple[str, ...]
    encoders: Mapping[str, _Encode]  # of what is neither a number nor a text

    insert_sql: str = field(init=False)  # the statement that adds a row, unless its id is taken

    def __post_init__(self) -> None:
        names, marks = ", ".join(self.columns), ", ".join("?" * len(self.columns))
        insert = f"INSERT INTO {self.name} ({names}) VALUES ({marks}) ON CONFLICT (id) DO NOTHING"
        object.__setattr__(self, "insert_sql", insert)  # made once: it is the key of a prepared statement

    def row(self, record: Any) -> list[Any]:
        """A record as its columns hold it."""
        return [self.value(name, getattr(record, name)) for name in self.columns]

    def value(self, column: str, value: Any) -> Any:
        """One field of a record as its column holds it."""
        encode = self.encoders.get(column)
        return value if encode is None else encode(value)


TASK_TABLE: Final = RecordTable("task", TASK_FIELDS, _TASK_ENCODERS)
task_value: Final = TASK_TABLE.value
_TASK_DECODE_AT: Final = tuple((TASK_FIELDS.index(name), decode) for name, decode in _TASK_DECODERS.items())
_TASK_FLAGS_AT: Final = tuple(map(TASK_FIELDS.index, _FLAGS))
_TASK_ENCODE_AT: Final = tuple((TASK_FIELDS.index(name), encode) for name, encode in _TASK_ENCODERS.items())


def task(row: Row) -> Task:
    """A task from its row."""
    values = list(row)
    for index in _TASK_FLAGS_AT:
        values[index] = values[index] != 0
    for index, decode in _TASK_DECODE_AT:
        text = values[index]
        values[index] = decode(text) if text != "[]" else ()
    return Task(*values)


def task_row(of: Task) -> list[Any]:
    """A task as its columns hold it; faster than its table makes one."""
    values = list(astuple(of))
    for index, encode in _TASK_ENCODE_AT:
        values[index] = encode(values[index])
    return values


ATTEMPT_FIELDS: Final = Attempt.__struct_fields__
ATTEMPT_COLUMNS: Final = ", ".join(ATTEMPT_FIELDS)


def attempt(row: Row) -> Attempt:
    """An attempt from its row."""
    values = list(row)
    for index, decode in _ATTEMPT_DECODE_AT:
        values[index] = decode(values[index])
    return Attempt(*values)


def encode_diagnosis(found: Diagnosis | None) -> str | None:
    """A diagnosis as it is stored."""
    return None if found is None else dumps(found)


def diagnosis(text: str) -> Diagnosis:
    """A diagnosis from its column."""
    values = loads(text)
    values["pattern"] = Pattern(**values["pattern"])
    values["location"] = Location(**values["location"]) if values["location"] else None
    values["runners_up"] = tuple(RunnerUp(**entry) for entry in values["runners_up"])
    return Diagnosis(**values)


_ATTEMPT_DECODERS: Final[dict[str, _Decode]] = {
    **dict.fromkeys(("canary", "forced", "charged"), bool),
    "diagnosis": lambda text: diagnosis(text) if text else None,
    "failure": lambda text: loads(text) if text else None,
}
_ATTEMPT_DECODE_AT: Final = tuple((ATTEMPT_FIELDS.index(name), decode) for name, decode in _ATTEMPT_DECODERS.items())

CHECK_FIELDS: Final = CheckResult.__struct_fields__
CHECK_COLUMNS: Final = ", ".join(CHECK_FIELDS)


def check_result(row: Row) -> CheckResult:
    """A check of an attempt from its row."""
    values = dict(zip(CHECK_FIELDS, row, strict=True))
    values["command"] = _command(values["command"])
    values["required"] = bool(values["required"])
    return CheckResult(**values)


def check_values(each: CheckResult) -> list[Any]:
    """A check of an attempt as its row holds it."""
    encoded = {"command": dumps(each.command), "required": int(each.required)}
    return [encoded.get(name, getattr(each, name)) for name in CHECK_FIELDS]


RETRY_FIELDS: Final = Retry.__struct_fields__
RETRY_COLUMNS: Final = ", ".join(RETRY_FIELDS)


def retry(row: Row) -> Retry:
    """A retry from its row."""
    return Retry(*row)


WORKER_FIELDS: Final = Worker.__struct_fields__
WORKER_COLUMNS: Final = ", ".join(WORKER_FIELDS)
_QUEUES_AT, _PLACES_AT = WORKER_FIELDS.index("queues"), WORKER_FIELDS.index("places")


def worker(row: Row) -> Worker:
    """A worker from its row."""
    values = list(row)
    values[_QUEUES_AT] = _strings(values[_QUEUES_AT])
    values[_PLACES_AT] = _pairs(values[_PLACES_AT]) if values[_PLACES_AT] != "[]" else ()
    return Worker(*values)


QUESTION_COLUMNS: Final = (
    "id, need, why, evidence, options, default_option, scope, status, asked_at, answered_at, answered_by, answer,"
    " send_at, sent, owner_kind, owner_id, free_text"
)


def question(row: Row, task_ids: tuple[str, ...]) -> Question:
    """A question from its row and the tasks that wait for it."""
    id_, need, why, evidence, options, default, scope, status, asked, answered, by, answer, send_at, sent, *rest = row
    owner_kind, owner_id, free_text = rest
    return Question(
        id=id_,
        need=need,
        why=why,
        evidence=evidence,
        options=tuple(Option(*entry) for entry in loads(options)),
        default=default,
        owner=Owner(owner_kind, owner_id) if owner_kind else None,
        free_text=bool(free_text),
        scope=scope,
        task_ids=task_ids,
        status=status,
        asked_at=asked,
        answered_at=answered,
        answered_by=by,
        answer=answer,
        send_at=send_at,
        sent=sent,
    )

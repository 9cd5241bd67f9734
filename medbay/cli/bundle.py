"""The archive of `medbay doctor --bundle`: what a bug report needs, without secrets. The store stays as it is."""

from __future__ import annotations

import io
import json
import os
import platform
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import medbay
from medbay.core.redaction import Redaction
from medbay.env import SystemClock
from medbay.errors import MedbayError, NotAllowed, StoreError
from medbay.views.store import DoctorLine
from medbay.views.text import clean_json

if TYPE_CHECKING:
    from medbay.bay import Bay
    from medbay.core.model import Task

EVENTS_MAX: Final = 5_000
TASKS_MAX: Final = 200
ATTEMPTS_MAX: Final = 3  # of each task
END_CHARS: Final = 4_000  # of what an attempt printed
_TITLE_MAX: Final = 200
_FOLDER: Final = "medbay-bundle"
_README: Final = """\
What `medbay doctor --bundle` found, for a bug report. Secrets were taken out by their look and by the names of
variables; read it before you hand it on.

versions.json        Medbay, Python, the machine, the database, the packages
doctor.json          what `medbay doctor` says
configuration.json   every setting in force, with its source
medbay.toml          the file itself, if there is one
events.jsonl         the newest events
attempts.jsonl       how the newest attempts of tasks ended, with the end of what they printed
"""


def write_bundle(path: Path, bay: Bay | None, lines: Sequence[DoctorLine]) -> int:
    """Write the archive into a new private file; its size in bytes. Without a store it has what needs none."""
    from medbay import app

    redaction = app.redaction_of(bay.place.config, os.environ) if bay else Redaction().knowing(os.environ)
    members = {"README": _README, "doctor.json": _json([_line(each) for each in lines], redaction)}
    members["versions.json"] = _json(_versions(bay), redaction)
    if bay is not None:
        members |= _of_store(bay, redaction)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise NotAllowed(f"{path} exists already", hint="choose another name; nothing is overwritten") from None
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}", hint="choose another place") from None
    with open(descriptor, "wb") as file:
        with tarfile.open(fileobj=file, mode="w:gz") as archive:
            for name, text in members.items():
                _add(archive, f"{_FOLDER}/{name}", text.encode("utf-8", "replace"))
        return file.tell()


def _of_store(bay: Bay, redaction: Redaction) -> Iterable[tuple[str, str]]:
    from medbay.views import event

    made = {"configuration.json": _json(_settings(bay), redaction)}
    if (written := bay.place.config.file) is not None:
        made["medbay.toml"] = redaction.text(written.text)
    try:
        since = max(0, bay.last_seq() - EVENTS_MAX)
        events = bay.events(since, limit=EVENTS_MAX)
        made["events.jsonl"] = "".join(_json(event.as_json(each), redaction) for each in events)
        made["attempts.jsonl"] = "".join(_json(each, redaction) for each in _attempts(bay))
    except MedbayError as error:  # a damaged store is why somebody asks
        made["store-error.txt"] = redaction.text(str(error))
    return made.items()


def _attempts(bay: Bay) -> Iterator[dict[str, Any]]:
    """How the newest attempts ended: those of tasks that failed or wait for a person first."""
    from medbay.store.tasks import TaskFilter
    from medbay.views import attempt as view

    for task in bay.select(TaskFilter(order="need", limit=TASKS_MAX)):
        own = Redaction().knowing(dict(task.env))
        for each in bay.attempts(task.id, ATTEMPTS_MAX):
            kept = bay.output(task.id, each.number)
            end = kept.text()[-END_CHARS:] if kept is not None else ""
            yield own.data({"task": _task(task), **view.as_json(each), "end_of_output": end})


def _task(task: Task) -> dict[str, Any]:
    """Which task it is; never its command, its environment or its specification."""
    return {"id": task.id, "title": task.title[:_TITLE_MAX], "runner": task.runner, "status": task.status}


def _settings(bay: Bay) -> list[dict[str, str]]:
    given = bay.place.config.given
    return [{"key": path, "value": each.text, "source": each.source} for path, each in sorted(given.items())]


def _versions(bay: Bay | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "medbay": medbay.__version__,
        "python": sys.version,
        "platform": platform.platform(),
        "made_at_ms": SystemClock().now_ms(),
        "packages": dict(sorted((each.name, each.version) for each in metadata.distributions())),
    }
    if bay is not None:
        from medbay.store import meta

        with bay.store.read() as tx:
            found["store"] = {"kind": bay.store.kind, **meta.describe(tx)}
        found["tasks"] = bay.counts()
    return found


def _line(each: DoctorLine) -> dict[str, str]:
    return {"mark": each.mark, "name": each.name, "said": each.said, "fix": each.fix}


def _json(value: Mapping[str, Any] | Sequence[Mapping[str, Any]], redaction: Redaction) -> str:
    return clean_json(json.dumps(redaction.data(value), ensure_ascii=False, default=str)) + "\n"


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    about = tarfile.TarInfo(name)
    about.size, about.mode = len(data), 0o600
    archive.addfile(about, io.BytesIO(data))

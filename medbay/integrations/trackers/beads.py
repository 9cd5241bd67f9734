"""Beads through its command line `bd` and its JSON alone: argument lists, a time limit, errors with what was run."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from medbay.core.redaction import redact
from medbay.core.tracker.issue import Issue, Listing, checked_id, is_id
from medbay.core.untrusted import line, parsed
from medbay.integrations.trackers.protocol import TrackerError, TrackerFault

PROGRAM: Final = "bd"
FOLDER: Final = ".beads"
NAME: Final = "beads"
TIMEOUT_S: Final = 30.0
PRIORITIES: Final = range(5)
_KEY: Final = "medbay_key"  # the metadata by which an issue that we made is found again
_SHOWN: Final = 300


def find_folder(start: Path) -> Path | None:
    """The nearest `.beads` from a directory upward."""
    return next((each / FOLDER for each in (start, *start.parents) if (each / FOLDER).is_dir()), None)


def open_tracker(path: str, cwd: Path, *, timeout_s: float = TIMEOUT_S) -> Beads:
    """The tracker at a path, or the one found upward; raises TrackerError when there is none, or no `bd`."""
    program = shutil.which(PROGRAM)
    if program is None:
        raise TrackerError("missing", f"{PROGRAM} is not on the PATH", hint="install Beads, or leave out [beads]")
    chosen = (cwd / path).resolve() if path else find_folder(cwd.resolve())
    if chosen is not None and chosen.name != FOLDER and (chosen / FOLDER).is_dir():
        chosen = chosen / FOLDER
    if chosen is None or not chosen.is_dir():
        where = str(cwd / path) if path else "here or above"
        raise TrackerError(
            "no_workspace", f"there is no {FOLDER} {where}", hint="bd init makes one; [beads] path names one"
        )
    return Beads(program, chosen, timeout_s)


@dataclass(frozen=True, slots=True)
class Beads:
    """One workspace of Beads."""

    program: str
    folder: Path  # .beads
    timeout_s: float = TIMEOUT_S

    @property
    def name(self) -> str:
        """The name of the system."""
        return NAME

    def open_issues(self) -> Listing:
        """Every open issue; an entry whose shape is no issue's affects no other."""
        listed = self._json("list", "--status", "open", "--limit", "0")
        found, unreadable = [], []
        for each in listed if isinstance(listed, list) else [listed]:
            try:
                found.append(_issue(each))
            except TrackerError as error:
                unreadable.append(f"{error}: {line(json.dumps(each, ensure_ascii=False), _SHOWN)}")
        return Listing(issues=tuple(found), unreadable=tuple(unreadable))

    def read(self, issue_id: str) -> Issue:
        """One issue as it is now."""
        checked_id(issue_id)
        found = _objects(self._json("show", issue_id))
        if len(found) != 1 or found[0].get("id") != issue_id:  # bd resolves parts of ids; we never mean another issue
            raise TrackerError("not_found", f"bd show {issue_id}: there is no issue {issue_id}")
        return _issue(found[0])

    def create(self, title: str, description: str, *, like: Issue, labels: Sequence[str], key: str) -> str:
        """Make an issue; the one that was made with this key before is not made again."""
        made = _objects(self._json("list", "--all", "--limit", "0", "--metadata-field", f"{_KEY}={key}"))
        if not made:
            options = [f"--title={title}", f"--description={description}", f"--priority={like.priority}"]
            if labels:
                options.append(f"--labels={','.join(labels)}")
            made = _objects(self._json("create", *options, f"--metadata={json.dumps({_KEY: key})}"))
        issue_id = made[0].get("id") if made else None
        if not isinstance(issue_id, str):
            raise TrackerError("unreadable", "bd create answered without an id")
        return checked_id(issue_id)

    def set_notes(self, issue_id: str, notes: str) -> None:
        """Replace the notes of an issue."""
        self._run("update", checked_id(issue_id), f"--notes={notes}")

    def close(self, issue_id: str, reason: str) -> None:
        """Close an issue."""
        self._run("close", checked_id(issue_id), f"--reason={reason}")

    def pause(self, issue_id: str) -> None:
        """Defer an issue."""
        self._run("update", checked_id(issue_id), "--status=deferred")

    def _json(self, *words: str) -> Any:
        printed = self._run(*words)
        try:
            return _unwrapped(parsed(printed))
        except ValueError:
            shown = line(printed, _SHOWN) or "nothing"
            raise TrackerError("unreadable", f"{_said(words)}: no JSON came back but {shown}", output=printed) from None

    def _run(self, *words: str) -> str:
        command = [self.program, *words, "--json"]
        env = {**os.environ, "BEADS_DIR": str(self.folder), "BD_NON_INTERACTIVE": "1", "CI": "true"}
        env.pop("BD_JSON_ENVELOPE", None)
        try:
            running = subprocess.Popen(
                command,
                cwd=self.folder.parent,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            if error.errno == errno.E2BIG:
                raise TrackerError("refused", f"{_said(words)}: what is to be written is too long") from None
            raise TrackerError("missing", f"{_said(words)}: {error.strerror}", hint="install Beads") from None
        except ValueError:  # a NUL, or half of a character
            raise TrackerError("refused", f"{_said(words)}: what is to be written is no text") from None
        try:
            out, err = running.communicate(timeout=self.timeout_s)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            running.communicate()
            raise TrackerError("timeout", f"{_said(words)}: no answer after {self.timeout_s:g}s") from None
        stdout, stderr = out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
        if running.returncode != 0:
            raise _complaint(words, running.returncode, stdout, stderr)
        return stdout


def _complaint(words: Sequence[str], code: int, stdout: str, stderr: str) -> TrackerError:
    """What a failed call complained about: JSON on either stream, else the text of the second."""
    told = _error_in(stdout) or _error_in(stderr) or redact(line(stderr or stdout, _SHOWN)) or "it said nothing"
    kind: TrackerFault = "failed"
    if "no beads database" in stderr:
        kind = "no_workspace"
    elif "no issue found matching" in stderr + stdout or "no issues found" in told:
        kind = "not_found"
    elif told.startswith(("invalid", "validation failed", "title required", "cannot", "prefix mismatch")):
        kind = "refused"
    return TrackerError(kind, f"{_said(words)}: exit {code}: {told}", output=f"{stdout}\n{stderr}")


def _error_in(text: str) -> str:
    try:
        found = _unwrapped(parsed(text))
    except ValueError:
        return ""
    said = found.get("error") if isinstance(found, dict) else None
    return redact(line(said, _SHOWN)) if isinstance(said, str) else ""


def _said(words: Sequence[str]) -> str:
    """What was run, short: the values of options may be long and are nobody's business."""
    shown = [word.partition("=")[0] if word.startswith("--") else word for word in words]
    return line(" ".join((PROGRAM, *shown)), 120)


def _unwrapped(found: Any) -> Any:
    """The payload, out of the envelope that later versions put around it."""
    return found["data"] if isinstance(found, dict) and {"data", "schema_version"} <= set(found) else found


def _objects(found: Any) -> list[Mapping[str, Any]]:
    listed = found if isinstance(found, list) else [found]
    if not all(isinstance(each, dict) for each in listed):
        raise TrackerError("unreadable", "bd answered with something that is no issue")
    return listed


def _issue(found: Any) -> Issue:
    """An issue from its object; empty fields are left out by `bd`."""
    if not isinstance(found, dict):
        raise TrackerError("unreadable", "bd answered with something that is no issue")
    issue_id, priority = found.get("id"), found.get("priority")
    if not isinstance(issue_id, str):
        raise TrackerError("unreadable", "bd answered with an issue that has no id")
    if not is_id(issue_id):
        raise TrackerError("unreadable", "bd answered with an issue whose id is none")
    labels, metadata = found.get("labels"), found.get("metadata")
    return Issue(
        id=issue_id,
        title=_text(found, "title"),
        description=_text(found, "description"),
        acceptance=_text(found, "acceptance_criteria"),
        notes=_text(found, "notes"),
        status=_text(found, "status") or "open",
        priority=priority if isinstance(priority, int) and priority in PRIORITIES else 2,
        labels=tuple(each for each in labels if isinstance(each, str)) if isinstance(labels, list) else (),
        created_at=_text(found, "created_at"),
        updated_at=_text(found, "updated_at"),
        key=_text(metadata, _KEY) if isinstance(metadata, dict) else "",
    )


def _text(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) else ""

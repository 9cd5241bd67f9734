"""`medbay import --crontab`: the jobs of a crontab as tasks; every line that is not taken over is named with why."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from medbay import env
from medbay.cli.files import opened
from medbay.cli.output import fields, note, print_json, say, screen
from medbay.cli.session import Session
from medbay.core.jobs import FileJob, JobChange, JobFile
from medbay.core.schedule import crontab
from medbay.core.schedule.crontab import CronMachine, Taken
from medbay.errors import ConfigError, NotFound, StoreError, UsageError

BYTES_MAX: Final = 4_000_000
_SENDMAIL: Final = ("/usr/sbin/sendmail", "/usr/lib/sendmail")
_ASKED_S: Final = 20.0
_WORDS: Final = {"add": "added", "keep": "there already", "refuse": "left out"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be imported, and how."""

    file: str | None  # None: the crontab of who asks
    system: bool = False
    dry_run: bool = False
    write_config: bool = False
    catch_up: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A line that holds a job, or could not be read, with what became of it."""

    taken: Taken
    change: JobChange | None = None

    @property
    def action(self) -> str:
        return self.change.action if self.change is not None else "refuse"

    @property
    def why(self) -> str:
        return str(self.change.error) if self.change is not None and self.change.error is not None else self.taken.why


def import_crontab(session: Session, asked: Asked) -> int:
    """Add what a crontab has, once; 1 when a line had to be left out."""
    name, source, text = _read(asked.file)
    system = asked.system or (asked.file is not None and bool(crontab.SYSTEM_FILES.fullmatch(source)))
    bay = session.bay(create=True)
    lines = crontab.read(text, system=system)
    if not system and asked.file is not None and crontab.names_users(lines, {each.pw_name for each in pwd.getpwall()}):
        note(f"{name}: every job names a user before its command: read as a system's crontab, as with --system")
        lines = crontab.read(text, system=True)
    found = crontab.tasks(lines, _machine(), source=source, now=env.SystemClock().now_ms())
    jobs = tuple(_job(each, asked.catch_up) for each in found if each.given)
    file = JobFile(jobs=jobs, prefix=f"crontab:{crontab.shortened(source)}:", cwd=os.getcwd())
    config = bay.place.folder.resolve().parent / "medbay.toml"
    _take_mail(crontab.mail_addresses(lines), name, config if asked.write_config and not asked.dry_run else None)
    made = bay.apply_jobs(file, dry_run=asked.dry_run, update=False, partly=True)
    by_line = {each.line: each for each in made}
    rows = [_Row(taken=each, change=by_line.get(each.line.number) if each.given else None) for each in found]
    _report(session, rows, name, dry_run=asked.dry_run)
    if any(row.action == "add" for row in rows) and not asked.dry_run:
        note("cron goes on running these jobs too: take them out of the crontab once medbay up runs")
    return int(any(row.action == "refuse" and row.taken.line.kind != "variable" for row in rows))


def _read(file: str | None) -> tuple[str, str, str]:
    """What the crontab is called, the name it is known by again, and its text."""
    if file is None:
        user = env.user_name()
        return "crontab", f"user {user}", _listed(user)
    name = "stdin" if file == "-" else file
    with opened(file) as stream:
        try:
            data = stream.read(BYTES_MAX + 1)
        except OSError as error:
            raise UsageError(f"cannot read {name}: {error.strerror}", hint="name a file, or - for stdin") from None
    if len(data) > BYTES_MAX:
        raise UsageError(f"{name} is too large for a crontab", hint=f"at most {BYTES_MAX} bytes")
    return name, "stdin" if file == "-" else os.path.abspath(file), data.decode("utf-8", "surrogateescape")


def _listed(user: str) -> str:
    """The crontab of this user, as `crontab -l` prints it."""
    try:
        ran = subprocess.run(["crontab", "-l"], capture_output=True, timeout=_ASKED_S, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise NotFound("there is no crontab command here", hint="name a file, or - for stdin") from None
    except subprocess.TimeoutExpired:
        raise StoreError("crontab -l did not answer", hint="name a file, or - for stdin") from None
    if ran.returncode != 0:
        said = " ".join(ran.stderr.decode("utf-8", "replace").split()) or f"exit {ran.returncode}"
        raise NotFound(f"crontab -l has nothing for {user}: {said}", hint="name a file, or - for stdin")
    return ran.stdout.decode("utf-8", "surrogateescape")


def _machine() -> CronMachine:
    user, is_root = env.user_name(), os.geteuid() == 0
    homes = {each.pw_name: each.pw_dir for each in pwd.getpwall()} if is_root else {}
    zone = str(getattr(env.local_zone(), "key", "UTC"))
    home = os.path.expanduser("~")
    return CronMachine(user=user, home=home, zone=zone, is_root=is_root, homes=homes, is_command=_is_command)


def _is_command(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _job(taken: Taken, catch_up: str | None) -> FileJob:
    given = {name: value for name, value in taken.given.items() if name != "key"}
    if catch_up is not None and given["cron"] != "@reboot":
        given["catch_up"] = catch_up
    number = taken.line.number
    return FileJob(name=f"line {number}", key=taken.given["key"], given=given, line=number)


def _report(session: Session, rows: Sequence[_Row], name: str, *, dry_run: bool) -> None:
    if session.json:
        print_json([_as_json(row) for row in rows])
    else:
        for row in rows:
            if dry_run:
                _show(row)
            elif row.change is not None and row.action == "add":
                say(row.change.task_id)
    for row in rows:
        if row.action == "refuse" and not (dry_run and not session.json):
            note(f"{name}:{row.taken.line.number}: not taken over: {row.why}")
        elif row.change is not None and row.change.changed:
            names = ", ".join(sorted(row.change.changed))
            note(
                f"{name}:{row.taken.line.number}: {row.change.task_id} is there already and was left as it is: {names}"
            )
    counts = Counter(_WORDS[row.action] for row in rows)
    told = ", ".join(f"{counts[word]} {word}" for word in _WORDS.values() if counts[word]) or "no jobs"
    note(f"{name}: {told}" + (" (dry run: nothing was added)" if dry_run else ""))


def _show(row: _Row) -> None:
    """One line of a dry run: the number, what becomes of it, and how."""
    given, word = row.taken.given, _WORDS[row.action]
    if row.action == "refuse":
        cells: tuple[object, ...] = (row.taken.line.number, word, "", row.taken.line.text.strip(), row.why)
    else:
        cells = (row.taken.line.number, word, given["cron"], given["title"], "; ".join(_beside(row.taken)))
    if screen().terminal:
        say(f"{cells[0]:>4}  {cells[1]:<13}  {'  '.join(str(each) for each in cells[2:] if each)}")
    else:
        fields(*cells)


def _beside(taken: Taken) -> list[str]:
    """What else a task has from its line and the variables above it."""
    line, given = taken.line, taken.given
    names = ", ".join(given.get("env", {}))
    said = {
        f"zone {given['zone']}": given["cron"] != "@reboot",
        f"in {given['cwd']}": "cwd" in given,
        f"with {names}": bool(names),
        f"by {dict(line.variables).get('SHELL')}": "SHELL" in dict(line.variables),
        f"as {line.user}": bool(line.user),
        "with its input": line.input is not None,
    }
    return [words for words, holds in said.items() if holds]


def _as_json(row: _Row) -> dict[str, Any]:
    given = row.taken.given
    return {
        "line": row.taken.line.number,
        "text": row.taken.line.text,
        "action": row.action,
        "id": (row.change.task_id or None) if row.change is not None else None,
        "title": given.get("title"),
        "cron": given.get("cron"),
        "zone": given.get("zone"),
        "env": sorted(given.get("env", {})),
        "why": row.why or None,
    }


def _take_mail(addresses: Mapping[str, int], name: str, config: Path | None) -> None:
    """What becomes of MAILTO: channels for sendmail, written into medbay.toml (`config`) or shown."""
    if not addresses:
        return
    sendmail = shutil.which("sendmail") or next((each for each in _SENDMAIL if os.access(each, os.X_OK)), None)
    if sendmail is None:
        for address, number in addresses.items():
            note(f"{name}:{number}: MAILTO={address} is not taken over: there is no sendmail on this machine")
        return
    channels = crontab.mail_channels(addresses, sendmail)
    texts = {each: f"[notify.{each}]\ncommand = {json.dumps(list(words))}\n" for each, words in channels.items()}
    if config is not None:
        _write_config(config, texts)
        return
    note("MAILTO becomes a channel: put this into medbay.toml, or import with --write-config")
    for text in texts.values():
        note(text)


def _write_config(path: Path, texts: Mapping[str, str]) -> None:
    """Append the channels that are not there yet; a file that could not be read afterwards is left as it is."""
    from medbay.config.load import check_text

    try:
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        new = [text for name, text in texts.items() if f"[notify.{name}]" not in before]
        whole = "\n".join([before.rstrip("\n"), *new] if before.strip() else new)
        if mistakes := check_text(whole, path.name):
            raise ConfigError(f"MAILTO was not written into {path.name}: {mistakes[0].message}", hint=mistakes[0].hint)
        if new:
            path.write_text(whole, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}", hint="leave --write-config out") from error
    note(f"{path.name}: {', '.join(f'[notify.{name}]' for name in texts)} {'written' if new else 'is there already'}")

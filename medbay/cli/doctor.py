"""`medbay doctor`: checks the store and this machine, and says how to fix what is wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from medbay.cli.output import Screen, fields, note, print_json, say, screen
from medbay.cli.session import ATTEMPT_KEY, Session, json_option, pass_session
from medbay.config.keys import key_at, paths
from medbay.config.kinds import without_password
from medbay.config.load import mistakes, names, programs
from medbay.core import durations
from medbay.core.shell import shell_words, shown_shell
from medbay.errors import ConfigError, MedbayError
from medbay.views import moments
from medbay.views import store as view
from medbay.views.store import DoctorLine, Mark
from medbay.views.text import clean, cut

if TYPE_CHECKING:
    from medbay.bay import Bay


_YEAR_2024_MS: Final = 1_704_067_200_000
_YEAR_2100_MS: Final = 4_102_444_800_000
_CLOCK_SLACK_MS: Final = 5_000
_GIT_TIMEOUT_S: Final = 5
_NAMED: Final = 20
_OURS: Final = frozenset({"MEDBAY_STORE", "MEDBAY_TRUST", ATTEMPT_KEY, *(key_at(path).variable for path in paths())})


_BUNDLE_HELP: Final = (
    "Also write an archive without secrets for a bug report: settings, events, ends of attempts, versions."
)


@click.command()
@click.option("--bundle", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help=_BUNDLE_HELP)
@json_option
@pass_session
def command(session: Session, bundle: Path | None) -> int:
    """Check the store, its engines and this machine; exit 1 if something is wrong.

    \b
    Examples:
      medbay doctor
      medbay doctor --bundle report.tar.gz
    """
    bay, made = _examined(session)
    if bundle is not None:
        _write_bundle(bundle, bay, made)
    counts = Counter(each.mark for each in made)
    if session.json:
        print_json(view.doctor_as_json(made, counts))
        return 1 if counts["failed"] else 0
    shown = screen()
    for each in made:
        if shown.terminal:
            for line in _lines(each, shown):
                say(line)
        else:
            fields(each.mark, each.name, each.said, each.fix and f"fix: {each.fix}")
    if shown.terminal:
        say(view.doctor_summary(counts))
    return 1 if counts["failed"] else 0


def _write_bundle(path: Path, bay: Bay | None, made: Sequence[DoctorLine]) -> None:
    from medbay.cli.bundle import write_bundle

    size = view.size(write_bundle(path, bay, made))
    note(clean(f"{path}: {size}, readable by you only; read it before you hand it on"))


def _examined(session: Session) -> tuple[Bay | None, list[DoctorLine]]:
    """The store, if it can be opened, and what was found."""
    from medbay.env import SystemClock

    bay: Bay | None = None
    made = list(of_configuration(Path.cwd(), os.environ))
    try:
        bay = session.bay()
    except ConfigError:
        made.append(DoctorLine("failed", "store", "not opened: the configuration has mistakes", "correct them first"))
    except MedbayError as error:
        made.append(DoctorLine("failed", "store", error.message, error.hint))
    else:
        made += of_store(bay, SystemClock().now_ms())
    return bay, [*made, *of_machine(os.environ)]


def of_configuration(start: Path, environ: Mapping[str, str]) -> Iterator[DoctorLine]:
    """Every mistake in the configuration file and in the variables that set something, each with its line."""
    from medbay import app

    file = app.find_config(start)
    found = mistakes(file, environ)
    for each in found:
        yield DoctorLine("failed", "configuration", each.message, each.hint)
    if not found:
        said = f"{file}, no mistakes" if file is not None else "no medbay.toml: every setting has its default"
        yield DoctorLine("fine", "configuration", said)


def _lines(each: DoctorLine, shown: Screen) -> list[str]:
    glyph, token = view.LOOKS[each.mark]
    head = shown.token(shown.plain(glyph), token)
    lines = [f"{head} {each.name}: {cut(clean(each.said), shown.width - len(each.name) - 4)}"]
    if each.fix:
        lines.append(f"    fix: {cut(clean(each.fix), shown.width - 9)}")
    return [shown.plain(line) for line in lines]


def of_machine(environ: Mapping[str, str]) -> Iterator[DoctorLine]:
    """What needs no store."""
    yield from _git()
    yield from _processes()
    yield from _variables(environ)


def of_store(bay: Bay, now_ms: int) -> Iterator[DoctorLine]:
    """What the store, its disk and its engines say."""
    looks: tuple[tuple[str, Callable[[Bay, int], Iterator[DoctorLine]]], ...] = (
        ("store", _store),
        ("clock", _clock),
        ("disk", _disk),
        ("logs", _logs),
        ("shell", _shell),
        ("agents", _agents),
        ("judges", _judges),
        ("sandbox", _sandbox),
        ("channels", _channels),
        ("places", _places),
        ("tracker", _tracker),
        ("engines", _engines),
        ("standstill", _standstills),
    )
    for name, look in looks:
        try:
            yield from look(bay, now_ms)
        except MedbayError as error:
            yield DoctorLine("failed", name, error.message, error.hint)


def _store(bay: Bay, now_ms: int) -> Iterator[DoctorLine]:
    from medbay.store import meta

    with bay.store.write() as tx:  # the write lock proves that it is writable
        found = meta.describe(tx)
    if bay.store.kind != "sqlite":
        said = f"{without_password(bay.place.url)}, schema {found.get('schema', '?')}, writable"
        yield DoctorLine("fine", "store", said)
        yield DoctorLine("fine", "database", f"{bay.store.kind} {found['version']}, {found.get('durability', '')}")
        return
    path = Path(bay.place.url.removeprefix("sqlite:///"))
    size = view.size(sum(_bytes(f"{path}{end}") for end in ("", "-wal")))
    yield DoctorLine("fine", "store", f"{path}, {size}, schema {found.get('schema', '?')}, writable")
    wal = found.get("journal") == "wal"
    said = f"{bay.store.kind} {found['version']}, journal {found.get('journal', '?')}"
    yield DoctorLine("fine" if wal else "failed", "database", said, "" if wal else "move the store to a local disk")


def _clock(bay: Bay, now_ms: int) -> Iterator[DoctorLine]:
    moment = durations.iso(now_ms)
    if not _YEAR_2024_MS < now_ms < _YEAR_2100_MS:
        yield DoctorLine("failed", "clock", f"says {moment}", "set the clock of this machine")
        return
    newest = bay.events(max(0, bay.last_seq() - 1), limit=1)
    if newest and newest[0].at > now_ms + _CLOCK_SLACK_MS:
        behind = moments.short(newest[0].at - now_ms)
        said = f"{behind} behind the newest event: things wait longer"
        yield DoctorLine("warning", "clock", said, "set the clock of this machine")
        return
    yield DoctorLine("fine", "clock", f"{moment}, zone {moments.zone(now_ms)}")


def _disk(bay: Bay, now_ms: int) -> Iterator[DoctorLine]:
    found = shutil.disk_usage(bay.place.folder)
    share = found.free / max(1, found.total)
    said = f"{share:.0%} free, {view.size(found.free)}"
    full = share < 0.01 or found.free < 100_000_000
    short = share < 0.05 or found.free < 1_000_000_000
    mark: Mark = "failed" if full else "warning" if short else "fine"
    yield DoctorLine(
        mark,
        "disk",
        said,
        f"medbay db archive, or make room on the disk of {bay.place.folder}" if mark != "fine" else "",
    )


def _logs(bay: Bay, now_ms: int) -> Iterator[DoctorLine]:
    folder = bay.place.folder
    logs = folder / "logs"
    where = logs if logs.exists() else folder
    if not os.access(where, os.W_OK | os.X_OK):
        yield DoctorLine("failed", "logs", f"{where} is not writable", f"chmod u+rwx {where}")
        return
    if folder.stat().st_mode & 0o077:
        said = f"{folder} can be read by others, and logs may hold secrets"
        yield DoctorLine("warning", "logs", said, f"chmod 700 {folder}")
        return
    yield DoctorLine("fine", "logs", f"{logs}" if logs.exists() else f"{logs}, made by the first attempt")


def _shell(bay: Bay, now_ms: int) -> Iterator[DoctorLine]:
    """What runs the command lines of new tasks, and whether it is there."""
    from medbay import app

    shell = app.shell_of(bay.place.config)
    words, shown = shell_words(shell, ""), shown_shell(shell)
    if shutil.which(words[0]) is None:
        fix = "install it, or set [runner] shell in medbay.toml"
        yield DoctorLine("failed", "shell", f"--run is run by {shown}, and {words[0]} is not here", fix)
        return
    hides = "" if "pipefail" in words else "; of a pipeline only the last part decides"
    yield DoctorLine("fine", "shell", f"--run is run by {shown}{hides}")


def _agents(bay: Bay, now_ms: int) -> Iterator[DoctorLine]:
    """What the configuration file says about agents is checked with the file."""
    config = bay.place.config
    if not [*names(config.triage, config.agents), *programs(config, bay.place.folder.parent)]:
        text = (f"triage by {config.triage.agent}", *sorted(config.agents))
        yield DoctorLine("fine", "agents", ", ".join(text))


def _judges(bay: Bay, now_ms: int) -> Iterator[DoctorLine]:
    """The models that judge failures and captures: what is configured, and whether each could be asked."""
    from medbay.integrations.judges import reach

    config = bay.place.config
    for subject, agent in (("triage", config.triage.agent), ("intake", config.intake.agent)):
        if agent not in ("model", "claude"):
            continue
        found = reach.check(agent, config.triage.model)
        mark: Mark = "fine" if not found.fix else "failed" if found.certain else "warning"
        yield DoctorLine(mark, subject, f"by {found.said}", found.fix)


def _sandbox(bay: Bay, now_ms: int) -> Iterator[DoctorLine]:
    """Whether bubblewrap can make one; a failure only where an agent wants one."""
    from medbay.integrations.bubblewrap import why_not

    wanted = sorted(name for name, each in bay.place.config.agents.items() if each.sandbox)
    if not bay.place.config.agents:
        return
    if why := why_not():
        fix = f'install bubblewrap, or take sandbox = "bwrap" off {", ".join(wanted)}' if wanted else ""
        yield DoctorLine("failed" if wanted else "fine", "sandbox", f"agents cannot be sandboxed here: {why}", fix)
    else:
        yield DoctorLine("fine", "sandbox", f"bubblewrap works; used by {', '.join(wanted) or 'no agent'}")


def _channels(bay: Bay, now_ms: int) -> Iterator[DoctorLine]:
    for found, waiting in bay.channels():
        last = (
            f"last delivery {moments.ago(found.delivered_at, now_ms)}"
            if found.delivered_at
            else "nothing delivered yet"
        )
        waits = f", {waiting} to deliver" if waiting else ""
        if found.failing_since is None:
            yield DoctorLine("fine", f"channel {found.name}", last + waits)
            continue
        since = moments.ago(found.failing_since, now_ms)
        said = f"failing since {since} ({found.error}); {last}{waits}"
        fix = f"medbay notify test {found.name}; it is tried again by itself"
        yield DoctorLine("warning", f"channel {found.name}", said, fix)


def _places(bay: Bay, now_ms: int) -> Iterator[DoctorLine]:
    """Each place elsewhere is asked once, from here."""
    for name, cluster in bay.place.config.places.items():
        from medbay.places.temporal import probe

        where = f"{cluster.kind} at {cluster.address}, namespace {cluster.namespace}, task queue {cluster.task_queue}"
        away = probe(cluster)
        if away:
            fix = f"mend [places.{name}] or start the cluster; tasks of that place wait, everything else goes on"
            yield DoctorLine("failed", f"place {name}", away, fix)
        else:
            yield DoctorLine("fine", f"place {name}", f"{where}; medbay worker --place {name} runs attempts there")


def _tracker(bay: Bay, now_ms: int) -> Iterator[DoctorLine]:
    """Only those that are configured; one call says whether each answers."""
    for source in bay.trackers.sources:
        chosen = bay.trackers.settings(source)
        name = source if source == "beads" else f"tracker {source}"
        by = f"worked on by {chosen.agent or chosen.run}" if chosen.agent or chosen.run else "nothing works on them"
        taken = "taken up by medbay up" if chosen.dispatch else "taken up by hand"
        try:
            listed = bay.trackers.open(source, bay.place.config.folder).open_issues()
        except MedbayError as error:
            yield DoctorLine("failed", name, error.message, error.hint)
            continue
        said = f"{len(listed.issues)} open issues, {by}, {taken}"
        if listed.left_out or listed.unreadable:
            odd = [*filter(None, (listed.left_out,)), *listed.unreadable]
            yield DoctorLine("warning", name, f"{said}; {odd[0]}", f'label = "NAME" in [trackers.{source}] narrows it')
        else:
            yield DoctorLine("fine", name, said)


def _engines(bay: Bay, now_ms: int) -> Iterator[DoctorLine]:
    from medbay.store import activity

    known = [worker for worker, _ in bay.workers()]
    dead = {each.worker.id for each in bay.dead_engines()}
    alive = [worker for worker in known if worker.lease_until > now_ms and worker.id not in dead]
    for worker in known:
        if worker.id in dead:
            said = f"{worker.id} on {worker.host} died: there is no process {worker.pid} any more"
            yield DoctorLine("warning", "engines", said, "medbay up takes over what it ran")
        elif worker not in alive:
            late = moments.short(now_ms - worker.lease_until)
            said = f"{worker.id} on {worker.host} (pid {worker.pid}) missed its lease {late} ago"
            yield DoctorLine("warning", "engines", said, "medbay up takes over what it ran")
    hashes = {worker.policy_hash for worker in alive} | ({bay.policy.hash()} if alive else set())
    if len(hashes) > 1:
        said = f"{len(alive)} alive, but with different policies: {', '.join(sorted(hashes))}"
        yield DoctorLine("warning", "engines", said, "restart the engines after changing medbay.toml")
        return
    with bay.store.read() as tx:
        waiting = activity.count_waiting(tx)
    if not alive and waiting:
        tasks = "1 task waits" if waiting == 1 else f"{waiting} tasks wait"
        yield DoctorLine("warning", "engines", f"none alive, and {tasks}", "medbay up")
        return
    slots = sum(worker.slots for worker in alive)
    yield DoctorLine("fine", "engines", f"{len(alive)} alive, {slots} slots" if alive else "none alive, nothing waits")


def _standstills(bay: Bay, now_ms: int) -> Iterator[DoctorLine]:
    found = bay.standstills()
    for task_id, why in found[:_NAMED]:
        fix = f"medbay explain {task_id}, then medbay retry {task_id}"
        yield DoctorLine("failed", "standstill", f"{task_id}: {why}", fix)
    if len(found) > _NAMED:
        yield DoctorLine("failed", "standstill", f"and {len(found) - _NAMED} more tasks", "these first")
    if not found:
        counts = bay.counts()
        still = sum(number for status, number in counts.items() if status not in ("completed", "cancelled"))
        whose = "1 open task has" if still == 1 else f"{still} open tasks each have"
        yield DoctorLine("fine", "no standstill", f"{whose} an owner, a wake time or a question")


def _git() -> Iterator[DoctorLine]:
    try:
        text = subprocess.run(["git", "--version"], capture_output=True, text=True, timeout=_GIT_TIMEOUT_S)
        version = text.stdout.strip().removeprefix("git version ") if text.returncode == 0 else ""
    except (OSError, subprocess.SubprocessError):
        version = ""
    if version:
        yield DoctorLine("fine", "git", version)
    else:
        yield DoctorLine("warning", "git", "not found; work in trees of its own needs it", "install git")


def _processes() -> Iterator[DoctorLine]:
    if not Path("/proc/self/stat").exists():
        yield DoctorLine(
            "failed", "processes", "no /proc: leftovers of a crash cannot be found", "run on Linux with /proc"
        )
        return
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (OSError, AttributeError):
        yield DoctorLine("failed", "processes", "no pidfd: signals could reach the wrong process", "Linux 5.3 or newer")
        return
    yield DoctorLine("fine", "processes", f"/proc and pidfd, Linux {os.uname().release}")


def _variables(environ: Mapping[str, str]) -> Iterator[DoctorLine]:
    odd = False
    if environ.get(ATTEMPT_KEY):
        odd = True
        said = f"{ATTEMPT_KEY} is set: this runs inside an attempt, and a person's commands are refused"
        yield DoctorLine("warning", "environment", said, f"unset {ATTEMPT_KEY}, if you are a person")
    unknown = sorted(name for name in environ if name.startswith("MEDBAY_") and name not in _OURS)
    if unknown and not environ.get(ATTEMPT_KEY):  # an attempt is given more of them
        odd = True
        yield DoctorLine(
            "warning", "environment", f"{', '.join(unknown)}: no such setting", f"unset {' '.join(unknown)}"
        )
    if not odd:
        used = sorted(name for name in environ if name in _OURS)
        yield DoctorLine("fine", "environment", ", ".join(used) or "no MEDBAY variables")


def _bytes(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0

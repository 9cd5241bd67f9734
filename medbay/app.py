"""The composition root: from where we stand to a configured store. `wiring` goes on to an engine."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from medbay import env
from medbay.config import load as configuration
from medbay.config import trust
from medbay.config.fields import DEFAULTS, Config
from medbay.config.kinds import without_password
from medbay.core import agent
from medbay.core.model import DEFAULT_QUEUE, Worker
from medbay.core.policy.policy import Policy
from medbay.core.shell import BASH
from medbay.env import Clock, Ids, SystemClock
from medbay.errors import ConfigError, NotAllowed, NotFound, StoreError, UsageError
from medbay.store import meta
from medbay.store.database import KeptStore, Store
from medbay.store.sqlite import SqliteStore, machine_of
from medbay.store.sqlite_files import refuse_emptied, refuse_no_file, sync_directory

if TYPE_CHECKING:
    from medbay.core.delivery import Channel
    from medbay.core.intake.workorder import IntakeWork
    from medbay.core.redaction import Redaction
    from medbay.core.triage.case import Means
    from medbay.runners.agent.profiles import KnownProfiles
    from medbay.service.requests import Defaults

FOLDER: Final = ".medbay"
SQLITE: Final = "sqlite:///"
_MACHINE_ID_MIN: Final = 32  # of /etc/machine-id; the address of a network card, used where there is none, is shorter
PACKAGE: Final = str(Path(__file__).parents[1])  # where our own processes import us from


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreLocation:
    """Where a store lives: its URL, the folder for its logs, and the configuration next to it."""

    url: str
    folder: Path
    config: Config


def find_place(
    start: Path,
    *,
    store_url: str | None,
    environ: Mapping[str, str],
    flags: Mapping[str, object] | None = None,
    trust_file: bool = False,
) -> StoreLocation:
    """The store a person means: named, or found upward from where they stand.

    Nothing is opened before the file beside it is known to be its user's own, or a person agreed to what it sets.
    """
    flags = dict(flags or {})
    home = find_home(start)
    config = configuration.load(find_config(start), environ, {**flags, "store.url": store_url})
    if home is not None:
        check_file(config, home, environ, trust_file=trust_file)
    if is_postgres(config.store.url):
        # The record is on the server; logs are files of this machine, next to the project or in the working directory.
        return StoreLocation(url=config.store.url, folder=(home or start.resolve()) / FOLDER, config=config)
    if "store.url" in config.given and not config.in_file("store.url"):
        folder = _sqlite_path(config.store.url, start).parent
        return StoreLocation(url=config.store.url, folder=_logs_beside(folder), config=config)
    if home is None:
        raise NotFound("no store here or above", hint="medbay init makes one, --store names one")
    folder = home / FOLDER
    url = SQLITE + str(_sqlite_path(config.store.url, home))
    return StoreLocation(url=url, folder=folder, config=config)


def find_config(start: Path) -> Path | None:
    """Return the configuration file that is in force in a directory; None where there is none."""
    home = find_home(start)
    file = home / configuration.FILE_NAME if home else None
    return file if file and (file.exists() or file.is_symlink()) else None


def find_settings(start: Path, environ: Mapping[str, str], *, trust_file: bool = False) -> Config:
    """The settings of a machine that has no store of its own: those of the file here, or of the project above."""
    home = find_home(start) or start.resolve()
    file = home / configuration.FILE_NAME
    config = configuration.load(file if file.exists() or file.is_symlink() else None, environ, {})
    check_file(config, home, environ, trust_file=trust_file)
    return config


def check_file(config: Config, home: Path, environ: Mapping[str, str], *, trust_file: bool = False) -> None:
    """Refuse a settings file that starts programs or names a store, until a person agreed or made this project."""
    agreed = trust_file or is_trusting(environ)
    kept = trust.decisions(environ)
    trust.check(config, kept, home / FOLDER, agreed=agreed, made_here=lambda: was_made_here(config, home))


def is_trusting(environ: Mapping[str, str]) -> bool:
    """Whether the environment says for a person that files and stores are trusted."""
    return environ.get(trust.VARIABLE, "").lower() in ("1", "yes", "true", "on")


def was_made_here(config: Config, home: Path) -> bool:
    """Whether a store in this directory was made on this machine; an id that can be guessed proves nothing."""
    mine = env.machine_id()
    paths = [home / FOLDER / "medbay.db"]
    if config.store.url.startswith(SQLITE) and not config.in_file("store.url"):
        paths.append(_sqlite_path(config.store.url, home))
    inside = [path for path in paths if path.is_relative_to(home) and trust.is_regular_and_ours(path)]
    return len(mine) >= _MACHINE_ID_MIN and any(machine_of(str(path)) == mine for path in inside)


def open_store(place: StoreLocation, clock: Clock, *, create: bool, trusted: bool = False) -> KeptStore:
    """Open (or make) the store; a file of another user or from another machine is refused unless trusted."""
    trusted = trusted or is_trusting(os.environ)
    if is_postgres(place.url):
        return _open_postgres(place, clock)
    path = _sqlite_path(place.url, Path.cwd())
    if not create and not path.exists():
        raise NotFound(f"there is no store at {path}", hint="medbay init makes one, --store names one")
    refuse_no_file(str(path))  # before a folder for its logs is made beside it
    was_used = (place.folder / "logs").is_dir() or (not create and path.parent.name == FOLDER)
    if was_used:  # a file that was only made, to become a store, is none that was cut
        refuse_emptied(str(path))
    if not trusted:
        trust.refuse_strange_store(path)
    if create:
        _make_folder(place.folder)
    store = SqliteStore(path, clock, new_store_id=Ids().store(), machine_id=env.machine_id())
    try:
        _check_machine(store, path, trusted=trusted)
    except BaseException:
        store.close()
        raise
    return store


def own_command(*words: str) -> list[str]:
    """The command line of a `medbay` like this one, whatever the working directory and the PATH."""
    code = f"import sys; sys.path.insert(0, {PACKAGE!r}); from medbay.cli.main import main; sys.exit(main())"
    return [sys.executable, "-P", "-c", code, *words]


def is_postgres(url: str) -> bool:
    """Whether a store lives on a PostgreSQL server."""
    return url.startswith(("postgresql://", "postgres://"))


def channels_of(config: Config) -> tuple[Channel, ...]:
    """The configured channels; quiet hours without a zone are those of this machine."""
    return tuple(replace(each, zone=each.zone or env.local_zone()) for each in config.notify.values())


def is_gone(worker: Worker) -> bool:
    """Whether a worker of this machine cannot be running any more; of another one only its lease says so."""
    from medbay.engine.identity import see, this_host

    return see(worker, this_host()) in ("dead", "rebooted")


def state_folder(environ: Mapping[str, str]) -> Path:
    """Where what belongs to this user and to no store is kept on this machine."""
    state = environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "medbay"


def worktrees_root(config: Config, environ: Mapping[str, str]) -> Path:
    """Where the worktrees of agents are on this machine."""
    if config.git.worktrees:
        return Path(os.path.abspath((config.folder or Path()) / Path(config.git.worktrees).expanduser()))
    return state_folder(environ) / "worktrees"


def story_root(config: Config) -> str:
    """The directory of story folders; empty where no file says where relative paths begin."""
    return os.path.abspath(config.folder / config.story.root) if config.folder is not None else ""


def agents_of(config: Config) -> KnownProfiles:
    """The agents there are: those that are configured, and those that are known by name."""
    from medbay.runners.agent.profiles import KnownProfiles

    return KnownProfiles(config.agents)


def means_of(config: Config, folder: Path | None = None) -> Means:
    """What triage works with; `folder` is where the logs are."""
    from medbay.core.triage.case import Means

    chosen = config.triage
    logs = str((folder / "logs").resolve()) if folder is not None else ""
    for each in configuration.names(chosen, config.agents):
        raise ConfigError(f"{config.source('.'.join(each.path))}: {each.message}", hint=each.hint)
    return Means(
        agent=chosen.agent,
        command=_judge_command(config, logs),
        timeout_ms=chosen.timeout_ms,
        max_tokens=config.triage_limits[0],
        max_cost=config.triage_limits[1],
        fix_agent=chosen.fix_agent,
        spec_agent=agent.with_role(config.agents.values(), agent.SPEC_ROLE),
        profiles=tuple(config.agents),
        models=tuple(dict.fromkeys(each.model for each in config.agents.values() if each.model)),
        accounts={name: agents_of(config)[name].resources for name in config.agents},
        blocked_timeout_ms=config.engine.blocked_timeout_ms,
        evaluate=_judge_command(config, logs, scores=True) if chosen.evaluate is True else chosen.evaluate or None,
        rescue_threshold=chosen.rescue_threshold,
    )


def intake_of(config: Config, folder: Path, *, queue: str = DEFAULT_QUEUE, commit: str | None = None) -> IntakeWork:
    """How workorders are run: the agent that is configured, in the directory of the project."""
    from medbay.core.intake.workorder import IntakeWork
    from medbay.runners.agent import rules

    chosen = config.intake
    if chosen.agent == "command" and not chosen.command:
        raise ConfigError("[intake] agent is command, and there is no command", hint='write command = ["./triage.py"]')
    command = rules.start_command(PACKAGE, "intake")
    if chosen.agent == "command":
        command = config.located(chosen.command)
    elif chosen.agent != "rules":
        from medbay.integrations.judges import program as judge

        if chosen.agent == "model" and not config.triage.model:
            raise ConfigError("[intake] agent is model, and no model is named", hint='write [triage] model = "..."')
        command = judge.start_command(
            PACKAGE,
            chosen.agent,
            config.triage.model,
            answers="bundle",
            max_tokens=config.triage_limits[0],
            max_cost=config.triage_limits[1],
        )
    return IntakeWork(
        agent=chosen.agent,
        command=command,
        cwd=str(folder),
        budget_ms=chosen.budget_ms,
        max_tries=chosen.max_tries,
        promote_above=chosen.promote_above,
        batch=chosen.batch,
        queue=queue,
        commit=commit,
    )


def _judge_command(config: Config, logs: str, *, scores: bool = False) -> tuple[str, ...]:
    """The program of the agent that judges: a person's own, a model's, or the built-in rules."""
    chosen = config.triage
    match chosen.agent:
        case "command":
            return config.located(chosen.command)
        case "model" | "claude":
            from medbay.integrations.judges import program as judge

            return judge.start_command(
                PACKAGE,
                chosen.agent,
                chosen.model,
                logs=logs,
                answers="score" if scores else "verdict",
                max_tokens=config.triage_limits[0],
                max_cost=config.triage_limits[1],
            )
        case _:
            from medbay.runners.agent import rules

            return rules.start_command(PACKAGE)


def shell_of(config: Config) -> str:
    """What runs the command lines of new tasks: what is configured, else bash with pipefail where it is there."""
    return config.runner.shell or _shell_on(os.environ.get("PATH"))


@cache
def _shell_on(path: str | None) -> str:
    """Looked for once: whoever adds one task after the other would go through the folders of the path each time."""
    from shutil import which

    return BASH if which(BASH, path=path) else "sh"


def defaults_of(config: Config) -> Defaults:
    """What a new task has that does not say otherwise."""
    queues = tuple((each.name, each.place) for each in config.queues.values() if each.place)
    return _defaults(os.getcwd(), shell_of(config), tuple(config.places), queues)


@lru_cache(maxsize=8)
def _defaults(cwd: str, shell: str, places: tuple[str, ...], queues: tuple[tuple[str, str], ...]) -> Defaults:
    """One record for all that is added in the same surroundings: whether they are the same is asked for each task."""
    from medbay.service.requests import Defaults

    return Defaults(cwd=cwd, shell=shell, places=places, queue_places=dict(queues))


def redaction_of(config: Config, environ: Mapping[str, str]) -> Redaction:
    """What is taken out of whatever leaves a log: by the rules, by a person's patterns, and what our variables hold."""
    from medbay.core.redaction import Redaction

    addresses = [str(each.target) for each in config.notify.values() if each.kind == "url"]
    named = [environ.get(each[1:], "") if each.startswith("$") else each for each in addresses]
    known = tuple(filter(None, named))
    return Redaction(secrets=known, patterns=config.runner.redact).knowing(environ)


def policy_of(config: Config) -> Policy:
    """The policy a configuration puts in force."""
    chosen = config.policy
    return Policy(
        preset=chosen.preset,
        rungs=chosen.ladder,
        max_retries_total=chosen.max_retries_total,
        recurring=config.recurring,
        adaptive=chosen.adaptive,
        fallback_after_ms=chosen.fallback_after_ms,
    )


def make_folder(home: Path) -> Path:
    """`.medbay/` in a project, private and outside version control."""
    folder = home / FOLDER
    _make_folder(folder, mark=False)
    return folder


def make_home(home: Path, *, file_is_ours: bool, environ: Mapping[str, str]) -> Path:
    """Make a directory a project of its user. A file of settings that came with a repository asks at each change."""
    folder, kept = home / FOLDER, trust.decisions(environ)
    pinned = not file_is_ours and trust.in_git(home) and not was_made_here(DEFAULTS, home)
    _make_folder(folder, mark=False)
    if not kept.knows_home(folder):
        kept.mark_home(folder, Ids().store(), pinned=pinned)
    return folder


def _make_folder(folder: Path, *, mark: bool = True) -> None:
    try:
        new = [each for each in (folder, *folder.parents) if not each.exists()]
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        ignore = folder / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="ascii")
        for each in new:  # a store that survives a power failure in a folder that does not is lost as well
            sync_directory(str(each))
    except OSError as error:
        raise StoreError(f"cannot make {folder}: {error.strerror}", hint="choose a writable directory") from error
    if mark and folder in new:  # a file that is there already was not read by this call: nobody has looked at it
        pinned = os.path.lexists(folder.parent / configuration.FILE_NAME)
        trust.decisions(os.environ).mark_home(folder, Ids().store(), pinned=pinned)


def find_home(start: Path) -> Path | None:
    """The nearest directory with a `.medbay/`, from here upward."""
    start = start.resolve()
    return next((each for each in (start, *start.parents) if (each / FOLDER).is_dir()), None)


def _open_postgres(place: StoreLocation, clock: Clock) -> KeptStore:
    """The driver is an extra, loaded only here. Machines agree on the server's clock, unless another is handed in."""
    try:
        from medbay.store.postgres import PostgresStore
    except ImportError:
        raise UsageError("the driver for PostgreSQL is missing", hint="pip install 'medbay[postgres]'") from None
    _make_folder(place.folder)
    return PostgresStore(
        place.url,
        None if isinstance(clock, SystemClock) else clock,
        new_store_id=Ids().store(),
        notify=place.config.store.notify,
    )


def _sqlite_path(url: str, base: Path) -> Path:
    if not url.startswith(SQLITE) or not url.removeprefix(SQLITE):
        raise UsageError(
            f'"{without_password(url)}" is not a store', hint="write sqlite:///FILE or postgresql://HOST/DATABASE"
        )
    return Path(os.path.abspath(base / url.removeprefix(SQLITE)))


def _logs_beside(folder: Path) -> Path:
    return folder if folder.name == FOLDER else folder / FOLDER


def _check_machine(store: Store, path: Path, *, trusted: bool) -> None:
    mine = env.machine_id()
    with store.read() as tx:
        theirs = meta.value(tx, "machine_id")
    if theirs == mine:
        return
    if not trusted:  # one that does not say where it was made may come from anywhere
        raise NotAllowed(
            f"{path} came from another machine, and its tasks would run here", hint="--trust takes it over"
        )
    with store.write() as tx:
        meta.put(tx, "machine_id", mine)

"""What a settings file may do only after a person agreed: start programs, name a store, belong to another user.

A decision holds for one file and its content. It is kept outside of the project, by hash, so that nothing which comes
with a repository can bring it along. Nothing is connected to and nothing is started here.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medbay.config.fields import DEFAULTS, Config, ConfigFile
from medbay.config.key import Setting
from medbay.errors import NotAllowed, StoreError
from medbay.foreign import read_regular

VARIABLE: Final = "MEDBAY_TRUST"
MARK_NAME: Final = "home"  # in `.medbay/`: says whose directory this is; means nothing without the record outside
_MARK_BYTES_MAX: Final = 200
_NAMED_MAX: Final = 3

# Everything that is not named here has to be agreed to: a setting that is new is refused until it is known as plain.
_PLAIN_SECTIONS: Final = frozenset(
    "engine policy recurring budget budgets breakers incidents queues log report".split(),
)
_PLAIN_KEYS: Final = frozenset(
    {"store.notify", "runner.secrets", "runner.redact"}
    | {f"triage.{name}" for name in "timeout fix_agent max_tokens max_cost rescue_threshold".split()}
    | {f"intake.{name}" for name in "batch budget max_tries promote_above".split()}
    | {f"story.{name}" for name in "fast_track max_review_rounds worker_timeout phase_timeout fail_fast".split()}
    | {"story.partial_pass_threshold"}
)
_PLAIN_VALUES: Final[Mapping[str, tuple[object, ...]]] = {
    "store.url": (DEFAULTS.store.url,),
    "triage.agent": ("rules", "command"),
    "intake.agent": ("rules", "command"),
}


def demands(config: Config) -> Iterator[Setting]:
    """The settings in force that the file makes and that start a program or decide whom Medbay talks to."""
    for path, setting in config.given.items():
        plain = path.partition(".")[0] in _PLAIN_SECTIONS or path in _PLAIN_KEYS
        if setting.document and not plain and setting.value not in _PLAIN_VALUES.get(path, ()):
            yield setting


def is_ours(owner: int) -> bool:
    """Whether a file of this owner is as good as our own: ours, root's, or of the person behind sudo, as git has it."""
    own = os.geteuid()
    behind = os.environ.get("SUDO_UID", "") if own == 0 else ""
    return owner in (own, 0) or (behind.isdigit() and owner == int(behind))


@dataclass(frozen=True, slots=True)
class Decisions:
    """What a person agreed to, and which directories they made a project of, in a private folder of theirs."""

    folder: Path

    def allows(self, file: ConfigFile) -> bool:
        """Whether a person agreed to this file as it is now."""
        return (self.folder / "files" / _file_name(file)).is_file()

    def allow(self, file: ConfigFile) -> None:
        """Keep that a person agreed to this file as it is now; raises OSError."""
        _write_private(self.folder / "files" / _file_name(file), f"{file.path}\n")

    def revoke(self, file: ConfigFile) -> bool:
        """Forget it; whether there was anything to forget."""
        try:
            (self.folder / "files" / _file_name(file)).unlink()
        except FileNotFoundError:
            return False
        return True

    def mark_home(self, folder: Path, name: str, *, pinned: bool) -> None:
        """Keep that this directory (by its `.medbay/`) was made a project here; pinned: each change of its file asks.

        A home directory that cannot be written is no reason to fail: then the store itself says where it was made.
        """
        mark = f"{'pinned' if pinned else 'own'} {name}\n"
        with suppress(OSError):
            _write_private(folder / MARK_NAME, mark)
            _write_private(self.folder / "homes" / _home_name(folder), f"{mark}{folder.parent}\n")

    def knows_home(self, folder: Path) -> bool:
        """Whether this directory was made a project here, and is still the same one."""
        return bool(_mark(folder)) and _mark(folder) == self._record(folder)

    def is_own_home(self, folder: Path, *, made_here: Callable[[], bool]) -> bool:
        """Whether this directory is a project that its owner made here, so that what is in it is theirs.

        `made_here` is asked where nothing was kept: of a store of an earlier version, or one that was moved.
        """
        mark, record = _mark(folder), self._record(folder)
        if mark.startswith("pinned"):
            return False
        return mark == record if record else made_here()

    def _record(self, folder: Path) -> str:
        try:
            return (self.folder / "homes" / _home_name(folder)).read_text(encoding="utf-8").partition("\n")[0]
        except (OSError, ValueError):
            return ""


def decisions(environ: Mapping[str, str]) -> Decisions:
    """Those of the user who runs this: below `$XDG_DATA_HOME`, or `~/.local/share`."""
    data = environ.get("XDG_DATA_HOME", "")
    home = environ.get("HOME") or os.path.expanduser("~")
    return Decisions(Path(data if os.path.isabs(data) else os.path.join(home, ".local", "share")) / "medbay")


def check(config: Config, kept: Decisions, folder: Path, *, agreed: bool, made_here: Callable[[], bool]) -> None:
    """Raise NotAllowed where the file needs a decision that nobody has taken.

    `folder` is the `.medbay/` beside the file; `agreed` says that a person takes the decision with this very call.
    """
    file = config.file
    if file is None or not needs_decision(config, kept, folder, made_here=made_here):
        return
    if not agreed:
        raise NotAllowed(refusal(config), hint=f"medbay trust shows and allows it (in scripts: {VARIABLE}=1)")
    with suppress(OSError):  # it was said for this call, and is said again for the next
        kept.allow(file)


def needs_decision(config: Config, kept: Decisions, folder: Path, *, made_here: Callable[[], bool]) -> bool:
    """Whether a person has to look at the file first."""
    file = config.file
    if file is None:
        return False
    strange = not is_ours(file.owner)
    if not strange and next(demands(config), None) is None:
        return False
    if kept.allows(file):
        return False
    return strange or not _owned(file.path.parent) or not kept.is_own_home(folder, made_here=made_here)


def refusal(config: Config) -> str:
    """What is wrong with using the file now, in one line."""
    assert config.file is not None
    if not is_ours(config.file.owner):
        return f"{config.file.shown} belongs to another user ({_user_name(config.file.owner)})"
    names = [each.key.path for each in demands(config)]
    more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    return f"{config.file.shown} sets {', '.join(names[:_NAMED_MAX])}{more}, and nobody has allowed that yet"


def refuse_strange_store(path: Path) -> None:
    """Raise NotAllowed for a store that another user owns: what it says is run here."""
    try:
        owner = path.stat().st_uid
    except OSError:
        return  # what is not there is said by who opens it
    if not is_ours(owner):
        what = f"{path} belongs to another user ({_user_name(owner)}), and its tasks would run here"
        raise NotAllowed(what, hint=f"--trust uses it all the same (in scripts: {VARIABLE}=1)")


def is_regular_and_ours(path: Path) -> bool:
    """Whether this is a file of ours, and no link to one."""
    try:
        about = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(about.st_mode) and is_ours(about.st_uid)


def in_git(folder: Path) -> bool:
    """Whether this directory is part of a git work tree, so that what is in it may change with a pull."""
    return any((each / ".git").exists() for each in (folder, *folder.parents))


def keep(kept: Decisions, file: ConfigFile) -> None:
    """Keep a person's decision, or say why it cannot be kept."""
    try:
        kept.allow(file)
    except OSError as error:
        what = f"the decision cannot be kept in {kept.folder}: {error.strerror}"
        raise StoreError(what, hint=f"make it writable, set XDG_DATA_HOME, or {VARIABLE}=1 for each call") from None


def _owned(folder: Path) -> bool:
    try:
        return is_ours(folder.stat().st_uid)
    except OSError:
        return False


def _mark(folder: Path) -> str:
    try:
        return read_regular(folder / MARK_NAME, _MARK_BYTES_MAX).decode("ascii", "replace").partition("\n")[0]
    except (OSError, ValueError):
        return ""


def _file_name(file: ConfigFile) -> str:
    # The directory is resolved, the name is not: programs are looked for beside the link, not beside its target.
    where = os.path.join(os.path.realpath(file.path.parent), file.path.name)
    return hashlib.sha256(f"{where}\0{file.text}".encode("utf-8", "surrogatepass")).hexdigest()


def _home_name(folder: Path) -> str:
    return hashlib.sha256(os.fsencode(os.path.realpath(folder.parent))).hexdigest()


def _write_private(path: Path, text: str) -> None:
    """A whole file or none, readable by its owner only; a link in its place is replaced, not followed."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(FileNotFoundError):
        unfinished.unlink()
    with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(unfinished, path)


def _user_name(owner: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(owner).pw_name
    except KeyError:
        return f"uid {owner}"

"""The folders of stories on disk: found, put in place, written, locked. Every change is atomic and may be repeated.

Other people's tools and agents write here too: a link is never followed out of a folder, what they wrote in a file of
theirs is kept, and a folder never moves while a phase runs in it.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from medbay.core.durations import iso
from medbay.core.machine import Machine
from medbay.core.untrusted import line
from medbay.core.workflow import artifacts, folder_sync, frontmatter, phase_lock, shapes, written
from medbay.core.workflow.folder_sync import FolderFound, FolderStep, FolderWanted
from medbay.core.workflow.frontmatter import StoryText
from medbay.core.workflow.phase_lock import PhaseLock
from medbay.core.workflow.records import Story
from medbay.errors import MedbayError, NotAllowed, StaleClaim, UsageError
from medbay.integrations import story_leftovers

FOLDERS_MAX: Final = 20_000
EVIDENCE_MAX: Final = 64 * 1024 * 1024  # bytes of a file that is hashed
_ELSEWHERE: Final = "backlog"  # of a status that has no directory


class FolderProblem(MedbayError):
    """A folder cannot be read, moved or written now."""


class PhaseInProgress(NotAllowed):
    """Another tool says that a phase runs in a folder: it is waited for, nobody has to decide anything."""


class StoryFolders:
    """The folders below `[story] root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._seen: dict[str, str | None] = {}  # the text of story.md in which edits were looked for, by story

    # Where a folder is

    def directory(self, story: Story, machine: Machine) -> str:
        """The directory that a story's status belongs in."""
        return machine.places.get(story.status) or _ELSEWHERE

    def find(self, story_id: str) -> Path | None:
        """Where the folder of a story is now, wherever a person put it."""
        for directory in _folders(self.root):  # where it should be; the others are only looked through without it
            if self._id_in(directory / story_id) == story_id:
                return directory / story_id
        named = [each for each in self._found() if story_id in (each.id, each.name)]
        best = min(named, key=lambda each: (each.id != story_id, not each.has_story, each.path), default=None)
        return self.root / best.path if best is not None else None

    def place(self, story: Story, machine: Machine, *, running: str = "") -> Path:
        """Bring the folder into the directory of the story's status, or make it; where it is now."""
        if not folder_sync.is_folder_name(story.id):
            raise UsageError(f"{story.id!r} cannot name a folder", hint="letters, digits, dots, dashes; no other signs")
        wanted = FolderWanted(id=story.id, directory=self.directory(story, machine), running=running)
        target = self.root / wanted.path
        if _is_folder(target):
            return target
        at = self.find(story.id)
        if at is not None and running:
            return at
        with _saying(f"the folder of {story.id} cannot be put into {target.parent}"):
            target.parent.mkdir(parents=True, exist_ok=True)
            if at is None:
                target.mkdir(exist_ok=True)
            else:
                self._move(at, target)
        return target

    def sync(
        self, stories: Iterable[Story], machines: Mapping[str, Machine], running: Mapping[str, str] | None = None
    ) -> list[str]:
        """Make the folders equal to the store; a line for everything that was not as it should be."""
        phases = running or {}
        wanted = [
            FolderWanted(
                id=each.id, directory=self.directory(each, machines[each.workflow]), running=phases.get(each.id, "")
            )
            for each in stories
        ]
        said = []
        for step in folder_sync.steps(wanted, list(self._found())):
            try:
                self._take(step)
                said.append(step.why)
            except FolderProblem as problem:  # the others go on
                said.append(f"{step.story}: {problem}")
        return said

    def _take(self, step: FolderStep) -> None:
        target = self.root / step.target
        with _saying(f"its folder cannot be put into {target.parent}"):
            if step.kind == "make":
                target.mkdir(parents=True)
            elif step.kind == "move":
                target.parent.mkdir(parents=True, exist_ok=True)
                self._move(self.root / step.source, target)

    def _move(self, source: Path, target: Path) -> None:
        """Rename; where another process was faster, it is done."""
        if target.exists() and not any(target.iterdir()):
            target.rmdir()
        try:
            os.rename(source, target)
        except FileNotFoundError:
            if not _is_folder(target):
                raise
        _sync_folder(target.parent)

    def _found(self) -> Iterator[FolderFound]:
        """Every folder that may be one of a story: `DIRECTORY/NAME` below the root."""
        left = FOLDERS_MAX
        for directory in _folders(self.root):
            for folder in _folders(directory):
                left -= 1
                if left < 0:
                    raise FolderProblem(f"{self.root} has more than {FOLDERS_MAX} folders", hint="move old ones away")
                said = self._id_in(folder)
                yield FolderFound(directory=directory.name, name=folder.name, id=said or "", has_story=said is not None)

    def _id_in(self, folder: Path) -> str | None:
        """The id that a folder's story.md names, empty where it names none; None without such a file."""
        text = _read(folder / shapes.STORY, frontmatter.FILE_MAX) if _is_folder(folder) else None
        return (frontmatter.read(text).id or "") if text is not None else None

    # What is in it

    def write(self, story: Story, files: Mapping[str, str], folder: Path | None = None) -> None:
        """Write story.md and these files, each whole or not at all, and only where they differ.

        StaleClaim where a person wrote into story.md since edits were looked for: those are read first.
        """
        at = folder or self.find(story.id)
        if at is None:
            raise FolderProblem(f"{story.id} has no folder below {self.root}", hint="medbay story sync makes it again")
        with _saying(f"the files of {story.id} cannot be written"):
            known = _known(at)
            hashes = self._write_artifacts(at, files, known)
            told = {"story": frontmatter.told(story).said, "files": hashes}
            self._write_story(story, at, {**known, "files": hashes}, told)

    def _write_story(self, story: Story, at: Path, known: dict[str, Any], told: dict[str, Any]) -> None:
        """Write story.md; what it said before is known until it is seen to be written, so that a crash is no edit."""
        before = _read(at / shapes.STORY, frontmatter.FILE_MAX + 1)
        if before != self._seen.pop(story.id, before):
            raise _edited(story)
        if before is None and os.path.lexists(at / shapes.STORY) and not _is_file(at / shapes.STORY):
            raise FolderProblem(f"{at / shapes.STORY} is no file", hint="move it away: story.md is written there")
        text = frontmatter.render(story, before)
        if text != before:
            if known.get("story"):
                _note(at, {}, {**told, "before": known["story"]})
            if not _replace_unchanged(at / shapes.STORY, text, before):
                raise _edited(story)
        _note(at, known if text == before else {}, told)

    def _write_artifacts(self, at: Path, files: Mapping[str, str], known: Mapping[str, Any]) -> dict[str, Any]:
        """Write what differs, another's file being kept beside; the hashes of what we wrote, noted before it is."""
        hashes, differ = dict(known.get("files") or {}), {}
        for name, text in files.items():
            _refuse_links(at, name)
            before = _read(at / name, shapes.FILE_MAX * 64)
            theirs = before is not None and not written.is_ours(known, name, before)
            if before == text and not theirs:
                continue
            if theirs and Path(name).name in artifacts.OF_ROLES:
                continue  # a role wrote it
            ours = written.hashes_of(known, name)[1 - written.HASHES_KEPT :]
            hashes[name] = [*ours, written.digest(text)]
            differ[name] = text
            if theirs and before != text:
                self._keep(at, name, before or "")
        _note(at, known, {**known, "files": hashes})
        for name, text in differ.items():
            _replace(at / name, text)
        return hashes

    def _keep(self, at: Path, name: str, text: str) -> None:
        """Another's file stays under a name of its own."""
        kept = written.kept_name(name, text)
        _refuse_links(at, kept)
        _replace(at / kept, text)

    def clear(self, folder: Path) -> list[str]:
        """Remove what a process that died left half written; what was removed or kept, by its name.

        A story.md that a person saved at the moment it was replaced is kept: those words are nowhere else.
        """
        removed = []
        with _saying(f"what a process left in {folder} cannot be removed"):
            for path in story_leftovers.found_in(folder):
                if story_leftovers.holds_words(path):
                    self._keep(folder, shapes.STORY, story_leftovers.text_of(path))
                path.unlink(missing_ok=True)
                removed.append(path.name)
        return removed

    def set_aside(self, folder: Path, artifact: str) -> list[str]:
        """Before a phase begins: what another wrote as its artifact, or in a wrong shape, is kept out of its way."""
        known, moved = _known(folder), []
        with _saying(f"the artifacts in {folder} cannot be kept"):
            for each in shapes.SHAPES:
                name = f"{shapes.FOLDER}/{each}"
                text = _read(folder / name, shapes.FILE_MAX * 64)
                if text is None or written.is_ours(known, name, text):
                    continue
                if each == artifact or shapes.check(each, text):
                    self._keep(folder, name, text)
                    (folder / name).unlink()
                    moved.append(each)
        return moved

    def hand_edit(self, story: Story, folder: Path | None = None) -> StoryText | None:
        """What a person changed in story.md since we wrote it; None for nothing."""
        at = folder or self.find(story.id)
        text = _read(at / shapes.STORY, frontmatter.FILE_MAX + 1) if at is not None else None
        self._seen[story.id] = text
        if at is None or text is None:
            return None
        known = _known(at)
        told, before = (_values(known.get(name)) for name in ("story", "before"))
        return frontmatter.edited(frontmatter.read(text), told, story, before=before)

    def artifacts(self, story_id: str) -> list[str]:
        """The files of a story's folder, by their names below it; hidden ones left out."""
        at = self.find(story_id)
        if at is None:
            return []
        found = (path for folder in (at, at / shapes.FOLDER) if _is_folder(folder) for path in sorted(folder.iterdir()))
        return [str(path.relative_to(at)) for path in found if path.is_file() and not path.name.startswith(".")]

    # The lock

    def lock(self, folder: Path, *, phase: str, command: str, run: str, now_ms: int) -> None:
        """Say that a phase runs here; NotAllowed while another one does. Our own lock is taken over."""
        path = folder / shapes.FOLDER / shapes.LOCK
        _refuse_links(folder, f"{shapes.FOLDER}/{shapes.LOCK}")
        mine = PhaseLock(
            phase=phase, command=command, started_at=iso(now_ms), pid=os.getpid(), host=socket.gethostname(), run=run
        )
        with _saying(f"{path} cannot be written"):
            path.parent.mkdir(parents=True, exist_ok=True)
            if _create(path, phase_lock.render(mine)):
                return
            text, written_at = _read(path, phase_lock.TEXT_MAX) or "", _written_at(path, now_ms)
            found = phase_lock.read(text)
            how = phase_lock.standing(found, written_at=written_at, now=now_ms, run=run, alive=_alive(found))
            if how == "live":
                held = phase_lock.described(found)
                hint = f"wait for it, or remove {path} if nothing runs"
                raise PhaseInProgress(f"Phase in progress: {held}", hint=hint)
            _replace(path, phase_lock.render(mine))

    def renew(self, folder: Path, *, run: str, now_ms: int) -> None:
        """Say that our phase still runs; nothing where the lock is not ours."""
        path = folder / shapes.FOLDER / shapes.LOCK
        found = phase_lock.read(_read(path, phase_lock.TEXT_MAX) or "")
        if found is not None and found.run == run:
            with _saying(f"{path} cannot be written"):
                _replace(path, phase_lock.render(phase_lock.renewed(found, now_ms)))

    def unlock(self, folder: Path, *, run: str) -> None:
        """Remove our lock; nothing where there is none, or another's."""
        path = folder / shapes.FOLDER / shapes.LOCK
        found = phase_lock.read(_read(path, phase_lock.TEXT_MAX) or "")
        if found is not None and found.run == run:
            path.unlink(missing_ok=True)


def evidence_hash(project: Path, path: str, folder: Path | None = None) -> str:
    """The hash of a file that shows something, below the project or the story's folder; empty where there is none.

    A folder has the hash of its files. What lies outside of both is no evidence: anything could stand there.
    """
    for base in (project, folder):
        if base is None:
            continue
        found = Path(os.path.realpath(base / path))
        if found.is_relative_to(os.path.realpath(base)) and found != Path(os.path.realpath(base)):
            if found.is_file():
                return _file_hash(found)
            if found.is_dir():
                return _folder_hash(found)
    return ""


def _file_hash(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size > EVIDENCE_MAX:
                return ""
            while part := file.read(1 << 20):
                digest.update(part)
    except OSError:
        return ""
    return digest.hexdigest()


def _folder_hash(path: Path) -> str:
    files = sorted(each for each in path.rglob("*") if each.is_file() and not each.is_symlink())[:FOLDERS_MAX]
    digest = hashlib.sha256()
    for each in files:
        digest.update(f"{each.relative_to(path)}\0{_file_hash(each)}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest() if files else ""


def _folders(path: Path) -> list[Path]:
    """The folders in one, by name, without hidden ones and links."""
    try:
        return sorted(each for each in path.iterdir() if not each.name.startswith((".", "_")) and _is_folder(each))
    except OSError:
        return []


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _read(path: Path, limit: int) -> str | None:
    """The text of a file, at most so many characters; None where there is no such file, or it is no text file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(fd).st_mode):  # a folder of this name
        os.close(fd)
        return None
    with open(fd, encoding="utf-8", errors="replace", newline="") as file:
        return file.read(limit)


def _refuse_links(folder: Path, name: str) -> None:
    """A folder on the way that is a link could lead the file anywhere."""
    at = folder
    for part in Path(name).parent.parts:
        at = at / part
        if at.is_symlink():
            raise FolderProblem(f"{at} is a link", hint="replace it with a folder: nothing is written through it")


def _create(path: Path, text: str) -> bool:
    """Make a file with this text; False where there is one, whole or half written by another."""
    temporary = path.with_name(f".{path.name.lstrip('.')}.{os.getpid()}.new")
    _write_new(temporary, text)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        temporary.unlink(missing_ok=True)
    return True


def _replace(path: Path, text: str) -> None:
    """A file with this text, whole or not at all, also after a power failure."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name.lstrip('.')}.{os.getpid()}.new")
    _write_new(temporary, text)
    os.replace(temporary, path)
    _sync_folder(path.parent)


def _replace_unchanged(path: Path, text: str, before: str | None) -> bool:
    """Replace a file that says `before`; False where somebody saved it meanwhile, whose words then stand."""
    if before is None:
        return _create(path, text)
    temporary, kept = (path.with_name(f".{path.name}.{os.getpid()}.{end}") for end in ("new", "old"))
    _write_new(temporary, text)
    kept.unlink(missing_ok=True)
    try:
        os.link(path, kept)  # the file itself: what is written into it while it is replaced is seen
        if _read(kept, frontmatter.FILE_MAX + 1) != before or not path.samefile(kept):
            return False
        os.replace(temporary, path)
        if _read(kept, frontmatter.FILE_MAX + 1) != before:
            os.replace(kept, path)
            return False
    except FileNotFoundError:
        return False
    finally:
        temporary.unlink(missing_ok=True)
        kept.unlink(missing_ok=True)
    _sync_folder(path.parent)
    return True


def _edited(story: Story) -> StaleClaim:
    return StaleClaim(f"story.md of {story.id} was edited while it was to be written", hint="it is read again")


def _values(kept: object) -> dict[str, Any]:
    """What was written, as it is compared: JSON has lists where records have tuples."""
    found = kept if isinstance(kept, dict) else {}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}


def _write_new(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    with open(fd, "wb") as file:
        file.write(text.encode("utf-8", "replace"))
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _known(folder: Path) -> dict[str, Any]:
    """What we wrote last; nothing where nobody knows."""
    return written.known(_read(folder / written.WRITTEN, shapes.FILE_MAX))


def _note(folder: Path, known: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Keep what we write, so that an edit is known as one."""
    if wanted != known:
        _refuse_links(folder, written.WRITTEN)
        _replace(folder / written.WRITTEN, json.dumps(wanted, indent=1, sort_keys=True) + "\n")


def _written_at(path: Path, now_ms: int) -> int:
    try:
        return int(path.stat().st_mtime * 1000)
    except OSError:
        return now_ms


def _alive(lock: PhaseLock | None) -> bool | None:
    """Whether the process of a lock runs; None where that cannot be known from here."""
    if lock is None or lock.pid is None or (lock.host and lock.host != socket.gethostname()):
        return None
    try:
        os.kill(lock.pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


@contextmanager
def _saying(what: str) -> Iterator[None]:
    """An error of the file system as one of ours, with what it stopped."""
    try:
        yield
    except OSError as error:
        why = line(error.strerror or str(error), 200)
        raise FolderProblem(f"{what}: {why}", hint="mend that; medbay story sync goes on") from None

"""git by argument lists: bounded in time, without hooks, prompts, editors, pagers or signatures. It decides nothing."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Final

from medbay.errors import MedbayError, NotFound

QUICK_S: Final = 60.0  # reading and writing what is on this disk
LONG_S: Final = 900.0  # a checkout of a large tree, a submodule, a push
LOCK_S: Final = 300.0
NO_HOOKS: Final = ("core.hooksPath", "/dev/null")
PACKAGE: Final = str(Path(__file__).parents[2])  # where our own processes import us from
_SHOWN_MAX: Final = 2_000
_OPTIONS: Final = (
    "=".join(NO_HOOKS),
    "core.fsmonitor=false",
    "core.pager=cat",
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "advice.detachedHead=false",
    "protocol.ext.allow=never",
    "merge.conflictStyle=merge",
)
_NO_LFS: Final = ("filter.lfs.smudge=", "filter.lfs.clean=", "filter.lfs.process=", "filter.lfs.required=false")
_ENVIRONMENT: Final = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",  # who only looks must not stand in the way of who commits
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS": "true",
    "GCM_INTERACTIVE": "never",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_MERGE_AUTOEDIT": "no",
    "LC_ALL": "C",
}
_NAMED_BY_CALLER: Final = "GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_PREFIX GIT_OBJECT_DIRECTORY".split()
_OWN_NAME: Final = {"NAME": "Medbay", "EMAIL": "medbay@localhost"}


class GitFailed(MedbayError):
    """A git command failed; its own words are in the message."""

    def __init__(self, message: str, *, code: int | None = None, output: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.output = output


class Git:
    """git in one directory."""

    def __init__(self, directory: Path | str, environ: Mapping[str, str] | None = None) -> None:
        self.directory = Path(directory)
        self._environ = os.environ if environ is None else environ

    def at(self, directory: Path | str) -> Git:
        """git in another directory."""
        return Git(directory, self._environ)

    def run(self, *words: str, timeout_s: float = QUICK_S, env: Mapping[str, str] | None = None) -> str:
        """What it prints, without the last line break; raises GitFailed."""
        code, out, said = self.call(*words, timeout_s=timeout_s, env=env)
        if code != 0:
            why = (said or out).strip()[-_SHOWN_MAX:] or f"exit {code}"
            raise GitFailed(f"git {words[0]}: {why}", code=code, output=out)
        return out.removesuffix("\n")

    def ask(self, *words: str, timeout_s: float = QUICK_S) -> str | None:
        """The same where a failure means that there is no such thing."""
        code, out, _ = self.call(*words, timeout_s=timeout_s)
        return out.removesuffix("\n") if code == 0 else None

    def call(
        self, *words: str, timeout_s: float = QUICK_S, env: Mapping[str, str] | None = None
    ) -> tuple[int, str, str]:
        """Exit code and both streams; one that takes too long is ended with all it started."""
        options = [part for each in (*_OPTIONS, *self._lfs) for part in ("-c", each)]
        try:
            child = subprocess.Popen(
                ["git", *options, *words],
                cwd=self.directory,
                env={**self._environment, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                process_group=0,
            )
        except FileNotFoundError:
            raise GitFailed("git is not installed", hint="install it, or set worktree = false") from None
        except OSError as error:
            raise GitFailed(f"git cannot run in {self.directory}: {error.strerror}") from error
        try:
            out, said = child.communicate(timeout=timeout_s)
        except BaseException as error:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                raise GitFailed(f"git {words[0]} took longer than {timeout_s:g} s") from None
            raise
        return child.returncode, out.decode("utf-8", "replace"), said.decode("utf-8", "replace")

    @cached_property
    def top(self) -> Path:
        """The directory of the work tree; raises NotFound where there is none."""
        found = self.ask("rev-parse", "--show-toplevel")
        if not found:
            raise NotFound(f"{self.directory} is not in a git work tree", hint="git init makes one")
        return Path(found)

    @cached_property
    def common(self) -> Path:
        """Where the repository keeps what all of its work trees share."""
        return Path(self.run("rev-parse", "--path-format=absolute", "--git-common-dir"))

    @property
    def own(self) -> Path:
        """Where it keeps what this work tree has for itself."""
        return Path(self.run("rev-parse", "--path-format=absolute", "--git-dir"))

    def commit_of(self, name: str) -> str | None:
        """The commit that a name stands for."""
        return self.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")

    @property
    def branch(self) -> str | None:
        """The full name of the branch that is checked out here; None when it is a commit."""
        return self.ask("symbolic-ref", "--quiet", "HEAD")

    @contextmanager
    def locked(self, timeout_s: float = LOCK_S) -> Iterator[None]:
        """What Medbay does to the repository as a whole, one at a time."""
        folder = self.common / "medbay"
        folder.mkdir(mode=0o700, exist_ok=True)
        with held(folder / "lock", timeout_s=timeout_s):
            yield

    @cached_property
    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in self._environ.items() if name not in _NAMED_BY_CALLER}
        made = {**kept, **_ENVIRONMENT}
        named = subprocess.run(
            ["git", "var", "GIT_COMMITTER_IDENT"], cwd=self.directory, env=made, capture_output=True, timeout=QUICK_S
        )
        if named.returncode != 0:  # nobody said who commits here
            made |= {f"GIT_{who}_{what}": said for who in ("AUTHOR", "COMMITTER") for what, said in _OWN_NAME.items()}
        return made

    @cached_property
    def _lfs(self) -> tuple[str, ...]:
        """Without git-lfs its files stay the pointers they are, instead of stopping every checkout."""
        return () if shutil.which("git-lfs", path=self._environ.get("PATH")) else _NO_LFS


@contextmanager
def held(path: Path, *, timeout_s: float) -> Iterator[None]:
    """A lock that ends with its process, however that ends; raises GitFailed when another has it for too long."""
    with open(path, "a", encoding="ascii") as file:
        give_up_s = time.monotonic() + timeout_s
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() >= give_up_s:
                    raise GitFailed(f"{path} is held by another process", hint="let it end first") from None
                time.sleep(min(0.05, timeout_s))
        yield


def is_held(path: Path) -> bool:
    """Whether a process has this lock now."""
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def without_hooks(environ: Mapping[str, str]) -> dict[str, str]:
    """What keeps the git of others from running hooks and from waiting for somebody; beside what is set already."""
    count = int(environ.get("GIT_CONFIG_COUNT") or 0)
    own = {f"GIT_CONFIG_KEY_{count}": NO_HOOKS[0], f"GIT_CONFIG_VALUE_{count}": NO_HOOKS[1]}
    return {**own, "GIT_CONFIG_COUNT": str(count + 1), "GIT_TERMINAL_PROMPT": "0"}


def repository_above(directory: Path | str) -> Path | None:
    """The work tree a directory belongs to, found without starting anything."""
    here = Path(os.path.abspath(directory))
    return next((each for each in (here, *here.parents) if os.path.lexists(each / ".git")), None)


def folder_of(root: Path, common: Path) -> Path:
    """The directory for the worktrees of one repository."""
    name = common.parent.name if common.name == ".git" else common.name.removesuffix(".git")
    return root / f"{name}-{hashlib.blake2b(os.fsencode(common), digest_size=4).hexdigest()}"


def excluding(paths: Sequence[str]) -> tuple[str, ...]:
    """The pathspec of everything but these paths."""
    return ("--", ".", *(f":(exclude,literal,top){each.rstrip('/')}" for each in paths))

"""Pull requests by `gh`: made, waited for, and what their checks and reviewers say. Its words are of others: data."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from medbay.core.untrusted import block, line
from medbay.core.workspace import Landed
from medbay.integrations.git import LONG_S, Git, GitFailed

GH_S: Final = 120.0
POLL_S: Final = 30.0
SAID_MAX: Final = 4_000
_FIELDS: Final = "number,url,state,reviews,comments,statusCheckRollup"
_OVER: Final = ("MERGED", "CLOSED")
# What is kept of a pull request, in the configuration of its repository: how often it came back, and up to which
# moment what people wrote was told.
_ROUNDS: Final = "medbayRounds"
_TOLD: Final = "medbayTold"
_FINE: Final = frozenset({"SUCCESS", "NEUTRAL", "SKIPPED", "STALE"})
_WAITS: Final = frozenset({"PENDING", "EXPECTED", "QUEUED", "IN_PROGRESS", "WAITING", "REQUESTED", ""})


class OwnedBranch(Protocol):
    """The branch of a task or a story, as far as a pull request needs it."""

    git: Git
    name: str
    branch: str
    owner: tuple[str, str]  # what it is of, and its id

    @property
    def head(self) -> str:
        """The commit that holds the work."""

    @property
    def base(self) -> str:
        """The branch it began on."""

    def diff(self, *, stat: bool = False) -> str:
        """What it changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CameBack:
    """What checks and reviewers say, in words to be told, and the round that it is."""

    words: str
    round: int
    given_up: bool  # it came back more often than it may
    told: str  # the moment up to which what people wrote is told with it


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """How it stands at one moment."""

    state: str = ""
    url: str = ""
    complaints: Sequence[str] = ()
    waiting: bool = False  # for checks
    checked: bool = False  # there are any
    newest: str = ""  # when the last was written


class PullRequest:
    """The pull request of one branch."""

    def __init__(self, branch: OwnedBranch, *, rounds: int) -> None:
        self._branch = branch
        self._git = branch.git
        self._rounds = rounds
        self._gh = shutil.which("gh")

    def land(self, title: str, *, wait_s: float) -> Landed:
        """Push it, ask for its merge, and wait for what its checks say; without `gh` or a remote it is kept."""
        branch, base = self._branch, self._branch.base.removeprefix("refs/heads/")
        remote = self._git.ask("config", f"branch.{base}.remote") or "origin"
        if self._gh is None:
            return Landed(how="kept", words=f"kept on {branch.branch}: gh is not installed")
        if not base or self._git.ask("remote", "get-url", remote) is None:
            return Landed(how="kept", words=f"kept on {branch.branch}: there is no remote {remote} to push to")
        pushed = f"{branch.head}:refs/heads/{branch.branch}"
        self._git.run("push", "--quiet", "--force", remote, pushed, timeout_s=LONG_S)
        if not self._known(_TOLD):
            self._git.run("config", self._key(_TOLD), _moment(time.time()))
        url = self._made(title, base)
        found = self._wait(wait_s)
        if not found.complaints:
            waiting = found.waiting or not found.checked
            return Landed(how="pr", url=url, into=base, words=f"pull request {url}", waiting=waiting)
        back = self._came_back(url, found)
        self.note(back)
        return Landed(how="given_up" if back.given_up else "refused", url=url, words=back.words)

    def look(self) -> CameBack | str:
        """What checks and reviewers say that nobody was told; else how it ended, empty while nothing is to be done."""
        if self._gh is None:
            raise GitFailed("gh is not installed")
        found = self._found()
        if found.state in _OVER:
            return f"it is {found.state.lower()}"
        return self._came_back(found.url, found) if found.complaints and not found.waiting else ""

    def note(self, back: CameBack) -> None:
        """What came back is told: it does not come back again, and it was one of so many rounds."""
        self._git.run("config", self._key(_ROUNDS), str(back.round))
        self._git.run("config", self._key(_TOLD), back.told)

    def _made(self, title: str, base: str) -> str:
        """Make it, or find the one that is there; its address."""
        name = self._branch.branch
        kind, owner = self._branch.owner
        told = f"Made by the {kind.lower()} {owner}.\n\n{self._branch.diff(stat=True)}"
        words = ("pr", "create", "--head", name, "--base", base, "--title", title, "--body", told)
        code, out = self._call(*words)
        if code != 0:  # there is one already, or it failed
            code, seen = self._call("pr", "view", name, "--json", "url", "--jq", ".url")
            out = seen if code == 0 else out
        url = next((each for each in reversed(out.split()) if each.startswith("http")), "")
        if code != 0 or not url:
            raise GitFailed(f"gh pr create: {line(out, SAID_MAX)}")
        return url

    def _wait(self, wait_s: float) -> _Found:
        """What there is to say once all checks have ended, or the time is up."""
        over_s = time.monotonic() + wait_s
        while True:
            found = self._found()
            left_s = over_s - time.monotonic()
            settled = (found.complaints or found.checked) and not found.waiting
            if found.state in _OVER or settled or left_s <= 0:
                return found
            time.sleep(min(POLL_S, max(0.05, wait_s / 60), left_s))

    def _found(self) -> _Found:
        """How it stands now."""
        seen = self._asked("pr", "view", self._branch.branch, "--json", _FIELDS)
        seen = seen if isinstance(seen, dict) else {}
        state, told = str(seen.get("state") or ""), self._known(_TOLD)
        if state in _OVER:
            return _Found(state=state)
        checks = [_check(each) for each in seen.get("statusCheckRollup") or ()]
        failed = [f"{name}: {how.lower()} {where}".rstrip() for name, how, where in checks if how not in _FINE | _WAITS]
        said = [*_written(seen), *self._in_lines(seen.get("number"))]
        return _Found(
            state=state,
            url=str(seen.get("url") or ""),
            complaints=[*failed, *(text for at, text in said if at > told)],
            waiting=any(how in _WAITS for _, how, _ in checks),
            checked=bool(checks),
            newest=max((at for at, _ in said), default=""),
        )

    def _in_lines(self, number: object) -> Iterator[tuple[str, str]]:
        """What reviewers wrote beside lines of the change, which is told apart from their reviews."""
        path = f"repos/{{owner}}/{{repo}}/pulls/{number}/comments?per_page=100"
        found = self._asked("api", path) if isinstance(number, int) else None
        for each in found if isinstance(found, list) else ():
            if isinstance(each, dict) and each.get("body"):
                who = str((each.get("user") or {}).get("login") or "a reviewer")
                where = f"{each.get('path')}:{each.get('line') or each.get('original_line') or '?'}"
                yield str(each.get("created_at") or ""), f"{who} on {where}: {each['body']}"

    def _asked(self, *words: str) -> Any:
        code, out = self._call(*words)
        try:
            return json.loads(out) if code == 0 else None
        except ValueError:
            return None

    def _came_back(self, url: str, found: _Found) -> CameBack:
        """What is to be told, and whether that is once too often."""
        count = int(self._known(_ROUNDS) or 0) + 1
        given_up = count > self._rounds
        head = f"pull request {url} came back" + (f" more than {self._rounds} times" if given_up else "")
        words = "\n".join((head, *(block(each, SAID_MAX) for each in found.complaints)))
        told = max(found.newest, self._known(_TOLD))
        return CameBack(words=words, round=count, given_up=given_up, told=told)

    def _key(self, name: str) -> str:
        return f"branch.{self._branch.branch}.{name}"

    def _known(self, name: str) -> str:
        return self._git.ask("config", self._key(name)) or ""

    def _call(self, *words: str) -> tuple[int, str]:
        assert self._gh is not None
        try:
            done = subprocess.run(
                [self._gh, *words],
                cwd=self._git.directory,
                env={**os.environ, "GH_PROMPT_DISABLED": "1", "NO_COLOR": "1"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=GH_S,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise GitFailed(f"gh {words[0]}: {error}") from None
        said = done.stdout + b"\n" + done.stderr if done.returncode else done.stdout
        return done.returncode, said.decode("utf-8", "replace")


def _check(each: Mapping[str, Any]) -> tuple[str, str, str]:
    """Name, how it ended, and where more of it is; a run and a status have different names for the same."""
    name = str(each.get("name") or each.get("context") or "check")
    how = str(each.get("conclusion") or each.get("state") or each.get("status") or "").upper()
    return name, how, str(each.get("detailsUrl") or each.get("targetUrl") or "")


def _written(seen: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What people wrote, and when: reviews that do not approve, and comments."""
    for each in seen.get("reviews") or ():
        body = each.get("body") or ("asks for changes" if each.get("state") == "CHANGES_REQUESTED" else "")
        if body and each.get("state") in ("CHANGES_REQUESTED", "COMMENTED"):
            yield str(each.get("submittedAt") or ""), f"{_author(each)}: {body}"
    for each in seen.get("comments") or ():
        if each.get("body"):
            yield str(each.get("createdAt") or ""), f"{_author(each)}: {each['body']}"


def _author(each: Mapping[str, Any]) -> str:
    return str((each.get("author") or {}).get("login") or "a reviewer")


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))

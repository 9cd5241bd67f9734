"""Pull requests by `gh`: made, waited for, and what their checks and reviewers say. Its words are of others: data."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol

from medbay.core.untrusted import block, line
from medbay.core.workspace import Landed
from medbay.integrations.git import LONG_S, Git, GitFailed

GH_S: Final = 120.0
POLL_S: Final = 30.0
SAID_MAX: Final = 4_000
_FIELDS: Final = "url,state,reviews,comments,statusCheckRollup"
_FINE: Final = frozenset({"SUCCESS", "NEUTRAL", "SKIPPED", "STALE"})
_WAITS: Final = frozenset({"PENDING", "EXPECTED", "QUEUED", "IN_PROGRESS", "WAITING", "REQUESTED", ""})


class TaskBranch(Protocol):
    """The branch of a task, as far as a pull request needs it."""

    git: Git
    name: str
    branch: str

    @property
    def head(self) -> str:
        """The commit that holds the work."""

    @property
    def base(self) -> str:
        """The branch it began on."""

    def diff(self, *, stat: bool = False) -> str:
        """What it changes."""


class PullRequest:
    """The pull request of one branch."""

    def __init__(self, branch: TaskBranch, *, rounds: int) -> None:
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
        since = _moment(time.time())
        url = self._made(title, base)
        if complaints := self._complaints(since, wait_s):
            return self._come_back(url, complaints)
        return Landed(how="pr", url=url, into=base, words=f"pull request {url}")

    def _made(self, title: str, base: str) -> str:
        """Make it, or find the one that is there; its address."""
        name = self._branch.branch
        told = f"Made by the task {self._branch.name}.\n\n{self._branch.diff(stat=True)}"
        words = ("pr", "create", "--head", name, "--base", base, "--title", title, "--body", told)
        code, out = self._call(*words)
        if code != 0:  # there is one already, or it failed
            code, seen = self._call("pr", "view", name, "--json", "url", "--jq", ".url")
            out = seen if code == 0 else out
        url = next((each for each in reversed(out.split()) if each.startswith("http")), "")
        if code != 0 or not url:
            raise GitFailed(f"gh pr create: {line(out, SAID_MAX)}")
        return url

    def _complaints(self, since: str, wait_s: float) -> list[str]:
        """What failed and what reviewers ask for, once all checks have ended or the time is up."""
        over_s = time.monotonic() + wait_s
        while True:
            seen = self._seen()
            checks = [_check(each) for each in seen.get("statusCheckRollup") or ()]
            failed = [
                f"{name}: {how.lower()} {where}".rstrip() for name, how, where in checks if how not in _FINE | _WAITS
            ]
            waiting = any(how in _WAITS for _, how, _ in checks)
            said = list(_asked_for(seen, since))
            if seen.get("state") in ("MERGED", "CLOSED"):
                return []
            if (failed or said) and not waiting:
                return [*failed, *said]
            left_s = over_s - time.monotonic()
            if left_s <= 0 or (checks and not waiting):
                return [*failed, *said]
            time.sleep(min(POLL_S, max(0.05, wait_s / 60), left_s))

    def _seen(self) -> Mapping[str, Any]:
        code, out = self._call("pr", "view", self._branch.branch, "--json", _FIELDS)
        try:
            seen = json.loads(out) if code == 0 else {}
        except ValueError:
            seen = {}
        return seen if isinstance(seen, dict) else {}

    def _come_back(self, url: str, complaints: list[str]) -> Landed:
        """A failure of the task, as often as that is allowed."""
        known = f"branch.{self._branch.branch}.medbayRounds"
        count = int(self._git.ask("config", known) or 0) + 1
        self._git.run("config", known, str(count))
        given_up = count > self._rounds
        head = f"pull request {url} came back" + (f" more than {self._rounds} times" if given_up else "")
        words = "\n".join((head, *(block(each, SAID_MAX) for each in complaints)))
        return Landed(how="given_up" if given_up else "refused", url=url, words=words)

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


def _asked_for(seen: Mapping[str, Any], since: str) -> Iterator[str]:
    """What people wrote since a moment: reviews that ask for changes, and comments."""
    for each in seen.get("reviews") or ():
        if str(each.get("submittedAt") or "") >= since and each.get("state") in ("CHANGES_REQUESTED", "COMMENTED"):
            yield f"{_author(each)}: {each.get('body') or 'asks for changes'}"
    for each in seen.get("comments") or ():
        if str(each.get("createdAt") or "") >= since and each.get("body"):
            yield f"{_author(each)}: {each['body']}"


def _author(each: Mapping[str, Any]) -> str:
    return str((each.get("author") or {}).get("login") or "a reviewer")


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))

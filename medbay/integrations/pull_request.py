"""A pull request: made, waited for, and what its checks and reviewers say. Its words are of others: data."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from medbay.core.tracker.source import TrackerSource
from medbay.core.untrusted import block
from medbay.core.workspace import Landed
from medbay.integrations.git import LONG_S, Git
from medbay.integrations.trackers.protocol import CodeHost, TrackerError

T = TypeVar("T")
POLL_S: Final = 30.0
SAID_MAX: Final = 4_000
WORDS_MAX: Final = 40_000  # of all that is said
# What is kept of a pull request, in the configuration of its repository: which commit it was made of, how often it came
# back, and up to which moment what people wrote was told.
_PUSHED: Final = "medbayPushed"
_ROUNDS: Final = "medbayRounds"
_TOLD: Final = "medbayTold"
_SAID_LAST: Final = "medbayTelling"  # both of what was said last and may not be stored yet, and who had asked


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

    state: str = "open"
    url: str = ""
    complaints: Sequence[str] = ()
    waiting: bool = False  # for checks
    checked: bool = False  # there are any
    newest: str = ""  # when the last was written


class _Wait:
    """A time that is waited for at most, in steps."""

    def __init__(self, wait_s: float) -> None:
        self._over_s = time.monotonic() + wait_s
        self._step_s = min(POLL_S, max(0.05, wait_s / 60))

    @property
    def left_s(self) -> float:
        """What is left of it."""
        return self._over_s - time.monotonic()

    def sleep(self, named_s: float = 0.0) -> None:
        """One step, or as long as was asked for."""
        time.sleep(max(0.0, min(max(self._step_s, named_s), self.left_s)))

    def answered(self, call: Callable[[], T]) -> T:
        """What is answered; who is away or has enough of us for the moment is asked again until the time is up."""
        while True:
            try:
                return call()
            except TrackerError as error:
                if not error.holds or self.left_s <= 0:
                    raise
                self.sleep(error.wait_s or 0.0)


class PullRequest:
    """The pull request of one branch, at the tracker that has it."""

    def __init__(self, branch: OwnedBranch, *, rounds: int, trackers: Sequence[TrackerSource] = ()) -> None:
        self._branch = branch
        self._git = branch.git
        self._rounds = rounds
        self._trackers = trackers

    def land(self, title: str, *, asker: str, wait_s: float) -> Landed:
        """Push it, ask for its merge, and wait for what its checks say; with nobody to ask or no remote it is kept.

        What was pushed and asked for before is only looked at: others may have pushed to it, or ended it. An asker who
        comes again has lost the answer, and hears it again.
        """
        branch, base, remote = self._branch, self._base, self._remote
        if not base or self._git.ask("remote", "get-url", remote) is None:
            return Landed(how="kept", words=f"kept on {branch.branch}: there is no remote {remote} to push to")
        try:
            host = self._host()
        except TrackerError as error:
            if error.kind != "missing":
                raise
            return Landed(how="kept", words=f"kept on {branch.branch}: {error}")
        self._settle_told(asker)
        head, wait = branch.head, _Wait(wait_s)
        found = wait.answered(lambda: self._found(host, head)) if self._known(_PUSHED) == head else None
        url = found.url if found is not None else ""
        if not url:
            url, found = self._ask_for(host, head, title, wait), None
        found = self._wait(host, head, wait, found)
        if not found.complaints:
            waiting = found.state == "open" and (found.waiting or not found.checked)
            return Landed(how="pr", url=url, into=base, words=f"pull request {url}", waiting=waiting)
        back = self._came_back(url, found)
        self._keep(_SAID_LAST, f"{back.round} {back.told} {asker}")
        return Landed(how="given_up" if back.given_up else "refused", url=url, words=back.words)

    def look(self) -> CameBack | str:
        """What checks and reviewers say that nobody was told; else how it ended, empty while nothing is to be done."""
        self._settle_told()
        found = self._found(self._host())
        if found.state != "open":
            return f"it is {found.state}"
        return self._came_back(found.url, found) if found.complaints and not found.waiting else ""

    def note(self, back: CameBack) -> None:
        """What came back is told: it does not come back again, and it was one of so many rounds."""
        self._keep(_ROUNDS, str(back.round))
        self._keep(_TOLD, back.told)

    def _settle_told(self, asker: str = "") -> None:
        """Count what was said last as told, unless the one who was told asks again and so has not stored it.

        The next attempt of a task, or the next step of a story, comes after the one before was stored. Only an attempt
        that was given up as lost stored nothing: then its successor settles words that went with it.
        """
        said = self._known(_SAID_LAST)
        if not said:
            return
        count, told, before = said.split(" ", 2)
        if before != asker:
            self._keep(_ROUNDS, count)
            self._keep(_TOLD, told)
            self._git.run("config", "--unset", self._key(_SAID_LAST))

    @property
    def _base(self) -> str:
        return self._branch.base.removeprefix("refs/heads/")

    @property
    def _remote(self) -> str:
        return self._git.ask("config", f"branch.{self._base}.remote") or "origin"

    def _host(self) -> CodeHost:
        """Who has it. The addresses are read as they are written: git may be told to go elsewhere for them."""
        from medbay.integrations.trackers.code_host import open_code_host  # loads HTTP, which an engine needs seldom

        said = self._git.ask("config", "--get-regexp", r"^remote\..*\.url$") or ""
        named = (each.partition(" ") for each in said.splitlines())
        urls = {name.removeprefix("remote.").removesuffix(".url"): url for name, _, url in named}
        return open_code_host(self._trackers, self._git.directory, urls, self._remote)

    def _ask_for(self, host: CodeHost, head: str, title: str, wait: _Wait) -> str:
        """Push a commit and ask for its merge; the address."""
        branch, base, pushed = self._branch, self._base, f"{head}:refs/heads/{self._branch.branch}"
        self._git.run("push", "--quiet", "--force", self._remote, pushed, timeout_s=LONG_S)
        if not self._known(_TOLD):
            self._keep(_TOLD, _moment(time.time()))
        kind, owner = branch.owner
        told = f"Made by the {kind.lower()} {owner}.\n\n{branch.diff(stat=True)}"
        url = wait.answered(lambda: host.open_pull_request(branch.branch, base=base, title=title, body=told))
        self._keep(_PUSHED, head)
        return url

    def _wait(self, host: CodeHost, head: str, wait: _Wait, found: _Found | None) -> _Found:
        """What there is to say once all checks have ended, or the time is up; `found` is how it stands already."""
        while True:
            try:
                found = found or wait.answered(lambda: self._found(host, head))
            except TrackerError as error:
                if not error.holds:
                    raise
                return _Found()  # it is made; what is said of it is read when who has it answers again
            settled = (found.complaints or found.checked) and not found.waiting
            if found.state != "open" or settled or wait.left_s <= 0:
                return found
            wait.sleep()
            found = None

    def _found(self, host: CodeHost, pushed: str = "") -> _Found:
        """How it stands now. Until the other side has noticed what was `pushed`, its checks are those of before."""
        seen, told = host.pull_request(self._branch.branch), self._known(_TOLD)
        if seen is None:  # not listed yet, or deleted
            return _Found(waiting=True)
        if seen.state != "open":
            return _Found(state=seen.state, url=seen.url)
        is_old = bool(pushed and seen.head and seen.head != pushed)
        checks = () if is_old else seen.checks
        failed = [each.words for each in checks if each.state == "failed"]
        return _Found(
            url=seen.url,
            complaints=[*failed, *(text for at, text in seen.said if at > told)],
            waiting=is_old or any(each.state == "waits" for each in checks),
            checked=bool(checks),
            newest=max((at for at, _ in seen.said), default=""),
        )

    def _came_back(self, url: str, found: _Found) -> CameBack:
        """What is to be told, and whether that is once too often."""
        count = int(self._known(_ROUNDS) or 0) + 1
        given_up = count > self._rounds
        head = f"pull request {url} came back" + (f" more than {self._rounds} times" if given_up else "")
        words = "\n".join((head, *(block(each, SAID_MAX) for each in found.complaints)))
        told = max(found.newest, self._known(_TOLD))
        return CameBack(words=block(words, WORDS_MAX), round=count, given_up=given_up, told=told)

    def _key(self, name: str) -> str:
        return f"branch.{self._branch.branch}.{name}"

    def _keep(self, name: str, value: str) -> None:
        self._git.run("config", self._key(name), value)

    def _known(self, name: str) -> str:
        return self._git.ask("config", self._key(name)) or ""


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))

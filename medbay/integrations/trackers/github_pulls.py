"""The pull requests of a repository of GitHub: made, and what their checks, reviewers and commenters say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from medbay.integrations.trackers.github import INSIDERS
from medbay.integrations.trackers.github_repository import Repository
from medbay.integrations.trackers.protocol import CheckSeen, PullRequestSeen, PullRequestState, TrackerError
from medbay.integrations.trackers.transport import Query

_NEWEST: Final[Query] = [("state", "all"), ("sort", "created"), ("direction", "desc"), ("per_page", "20")]
_FINE: Final = frozenset({"success", "neutral", "skipped", "stale"})
_WAITS: Final = frozenset({"pending", "expected", "queued", "in_progress", "waiting", "requested", ""})


@dataclass(frozen=True, slots=True)
class GitHubPulls:
    """The pull requests of branches; those of a fork have an owner of their own."""

    repository: Repository
    owner: str  # whose branches they are

    def pull_request(self, branch: str) -> PullRequestSeen | None:
        """That of a branch: the open one, else the newest."""
        chosen = self._chosen(branch)
        if chosen is None:
            return None
        seen = _seen(chosen)
        return seen if seen.state != "open" else self._with_words(seen, chosen.get("number"))

    def open_pull_request(self, branch: str, *, base: str, title: str, body: str) -> str:
        """Ask for the merge of a branch; its address. What asks already is found, not made again."""
        there = self._chosen(branch)
        if there is not None and _seen(there).state == "open":
            return _seen(there).url
        asked = {"title": title, "body": body, "head": f"{self.owner}:{branch}", "base": base}
        made = self.repository.ask("POST", "pulls", body=asked)
        return _seen(made if isinstance(made, dict) else {}).url

    def _chosen(self, branch: str) -> Mapping[str, Any] | None:
        found, _ = self.repository.page("pulls", [*_NEWEST, ("head", f"{self.owner}:{branch}")])
        return next((each for each in found if each.get("state") == "open"), found[0] if found else None)

    def _with_words(self, seen: PullRequestSeen, number: object) -> PullRequestSeen:
        checks = tuple(self._checks(seen.head)) if seen.head else ()
        said = (*self._reviews(number), *self._comments(number), *self._in_lines(number))
        return PullRequestSeen(url=seen.url, state=seen.state, head=seen.head, checks=checks, said=said)

    def _checks(self, commit: str) -> Iterator[CheckSeen]:
        """Check runs, or the runs of workflows where a token may not read those; and statuses."""
        try:
            runs = list(self.repository.every(f"commits/{commit}/check-runs", [], within="check_runs"))
        except TrackerError as error:
            if error.kind not in ("refused", "not_found"):
                raise
            runs = list(self.repository.every("actions/runs", [("head_sha", commit)], within="workflow_runs"))
        for each in runs:
            how = str(each.get("conclusion") or each.get("status") or "")
            yield _check(each.get("name"), how, each.get("details_url") or each.get("html_url"))
        for each in self.repository.every(f"commits/{commit}/status", [], within="statuses"):
            yield _check(each.get("context"), str(each.get("state") or ""), each.get("target_url"))

    def _reviews(self, number: object) -> Iterator[tuple[str, str]]:
        """Those that do not approve."""
        for each in self.repository.every(f"pulls/{number}/reviews", []):
            state = each.get("state")
            body = each.get("body") or ("asks for changes" if state == "CHANGES_REQUESTED" else "")
            if body and state in ("CHANGES_REQUESTED", "COMMENTED") and _counts(each):
                yield str(each.get("submitted_at") or ""), f"{_author(each)}: {body}"

    def _comments(self, number: object) -> Iterator[tuple[str, str]]:
        for each in self.repository.every(f"issues/{number}/comments", []):
            if each.get("body") and _counts(each):
                yield str(each.get("created_at") or ""), f"{_author(each)}: {each['body']}"

    def _in_lines(self, number: object) -> Iterator[tuple[str, str]]:
        """What reviewers wrote beside lines of the change, which is told apart from their reviews."""
        for each in self.repository.every(f"pulls/{number}/comments", []):
            if each.get("body") and _counts(each):
                where = f"{each.get('path')}:{each.get('line') or each.get('original_line') or '?'}"
                yield str(each.get("created_at") or ""), f"{_author(each)} on {where}: {each['body']}"


def _seen(found: Mapping[str, Any]) -> PullRequestSeen:
    head = found.get("head")
    if not isinstance(found.get("number"), int) or not str(found.get("html_url") or "").startswith("http"):
        raise TrackerError("unreadable", "GitHub answered with a pull request that has no number or no address")
    state: PullRequestState = "merged" if found.get("merged_at") else "open"
    if state == "open" and found.get("state") == "closed":
        state = "closed"
    commit = str(head.get("sha") or "") if isinstance(head, dict) else ""
    return PullRequestSeen(url=str(found["html_url"]), state=state, head=commit)


def _check(name: object, how: str, where: object) -> CheckSeen:
    how = how.lower()
    said = f"{name or 'check'}: {how} {where or ''}".rstrip()
    return CheckSeen(words=said, state="waits" if how in _WAITS else "fine" if how in _FINE else "failed")


def _counts(entry: Mapping[str, Any]) -> bool:
    """Whether what somebody wrote starts work: of insiders and of apps that one of them installed, not of anybody."""
    user = entry.get("user")
    is_app = isinstance(user, dict) and user.get("type") == "Bot"
    return is_app or entry.get("author_association") in INSIDERS


def _author(entry: Mapping[str, Any]) -> str:
    user = entry.get("user")
    return str(user.get("login") or "a reviewer") if isinstance(user, dict) else "a reviewer"

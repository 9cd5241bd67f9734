"""Pull requests of the imitated GitHub: made, listed by their branch, with reviews, comments and checks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.trackers.imitations import Answers, Board, Reply, github, github_page

URL = "https://github.com/acme/shop/pull"


@dataclass
class Pull:
    """One pull request, and what is said of it in the shapes of the API."""

    number: int
    head: str  # owner:branch
    base: str
    title: str
    body: str
    state: str = "open"
    reviews: list[dict[str, Any]] = field(default_factory=list)
    comments: list[dict[str, Any]] = field(default_factory=list)
    lines: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Pulls:
    """The pull requests of acme/shop."""

    commit_of: Callable[[str], str] = "c0ffee-{}".format  # of a branch, as the remote has it
    runs: Callable[[str], list[dict[str, Any]]] = lambda commit: []  # the check runs of a commit
    statuses: Callable[[str], list[dict[str, Any]]] = lambda commit: []
    made: list[Pull] = field(default_factory=list)

    def of(self, branch: str) -> Pull:
        """The newest of a branch."""
        return next(each for each in reversed(self.made) if each.head.endswith(f":{branch}"))

    @property
    def answers(self) -> Answers:
        """A server that knows them besides issues."""

        def answer(board: Board, method: str, path: str, query: dict[str, str], body: Any, base: str) -> Reply:
            part = path.removeprefix("/repos/acme/shop/")
            for pattern, handle in self._paths():
                if found := re.fullmatch(pattern, part):
                    return handle(found, method, query, body, f"{base}{path}")
            return github(board, method, path, query, body, base)

        return answer

    def _paths(self) -> tuple[tuple[str, Callable[..., Reply]], ...]:
        return (
            (r"pulls", self._pulls),
            (r"(pulls|issues)/(\d+)/(reviews|comments)", self._said),
            (r"commits/(.+)/(check-runs|status)", self._checks),
        )

    def _pulls(self, found: re.Match[str], method: str, query: dict[str, str], body: Any, url: str) -> Reply:
        if method == "GET":
            seen = [each for each in reversed(self.made) if each.head == query["head"]]
            return github_page([self._shown(each) for each in seen], query, url)
        if any(each.head == body["head"] and each.state == "open" for each in self.made):
            said = f"A pull request already exists for {body['head']}."
            return Reply(422, {"message": "Validation Failed", "errors": [{"code": "custom", "message": said}]})
        self.made.append(Pull(len(self.made) + 7, body["head"], body["base"], body["title"], body["body"]))
        return Reply(201, self._shown(self.made[-1]))

    def _shown(self, pull: Pull) -> dict[str, Any]:
        owner, _, branch = pull.head.partition(":")
        return {
            "number": pull.number,
            "html_url": f"{URL}/{pull.number}",
            "state": "open" if pull.state == "open" else "closed",
            "merged_at": "2026-01-02T00:00:00Z" if pull.state == "merged" else None,
            "title": pull.title,
            "head": {"label": pull.head, "ref": branch, "sha": self.commit_of(branch), "user": {"login": owner}},
            "base": {"ref": pull.base},
        }

    def _said(self, found: re.Match[str], method: str, query: dict[str, str], body: Any, url: str) -> Reply:
        pull = next(each for each in self.made if each.number == int(found[2]))
        by_lines = pull.lines if found[1] == "pulls" else pull.comments
        return github_page(pull.reviews if found[3] == "reviews" else by_lines, query, url)

    def _checks(self, found: re.Match[str], method: str, query: dict[str, str], body: Any, url: str) -> Reply:
        name, every = ("check_runs", self.runs) if found[2] == "check-runs" else ("statuses", self.statuses)
        reply = github_page(every(found[1]), query, url)
        return Reply(200, {"total_count": len(every(found[1])), name: reply.body}, reply.headers)


def run(name: str, conclusion: str | None = "success") -> dict[str, Any]:
    """A check run; without a conclusion it goes on."""
    status = "completed" if conclusion else "in_progress"
    return {"name": name, "status": status, "conclusion": conclusion, "details_url": f"https://ci.test/{name}"}


def said(body: str, *, at: str, by: str = "ada", insider: bool = True, **more: Any) -> dict[str, Any]:
    """Something that somebody wrote."""
    user = {"login": by, "type": "Bot" if by.endswith("[bot]") else "User"}
    association = "COLLABORATOR" if insider else "NONE"
    moments = {"created_at": at, "submitted_at": at}
    return {"body": body, "user": user, "author_association": association, **moments, **more}

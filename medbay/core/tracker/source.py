"""A tracker that people keep their work in, as it is configured: `[trackers.NAME]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

KINDS: Final = ("github", "linear", "jira")
TAKEN_NAMES: Final = frozenset({"native", "beads", "default"})  # sources and queues of their own
TOKEN_NAMES: Final = {
    "github": ("GITHUB_TOKEN", "GH_TOKEN"),
    "linear": ("LINEAR_API_KEY",),
    "jira": ("JIRA_API_TOKEN",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackerSource:
    """One tracker: where it is, and how its issues are worked on."""

    name: str
    kind: str
    project: str = ""  # owner/repository, the key of a team, or the key of a project
    url: str = ""  # of its API; empty: the vendor's own
    via: str = "auto"  # GitHub: its API with a token, or the program gh
    token_env: str = ""  # the variable that has the token; empty: the usual one
    user: str = ""  # Jira Cloud: whose token it is
    label: str = ""  # only issues with this label
    issue_type: str = "Task"  # Jira: of issues that are made
    done: str = ""  # Jira: the status of what is closed; empty: any that counts as done
    dispatch: bool = False
    agent: str = ""
    run: str = ""
    checks: tuple[str, ...] = ()
    poll_ms: int = 120_000
    timeout_ms: int = 30_000
    limit: int = 1_000

    @property
    def token_names(self) -> tuple[str, ...]:
        """The variables that may have the token, in order."""
        return (self.token_env,) if self.token_env else TOKEN_NAMES[self.kind]

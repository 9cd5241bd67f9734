"""The rows of `[trackers.NAME]`: issues of GitHub, Linear and Jira as a source of work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from medbay.config.key import Key
from medbay.config.kinds import choice, duration, switch, text, texts, variable, whole
from medbay.core.tracker.source import KINDS

TRACKER_ROWS: Final[Mapping[str, Callable[..., Key]]] = MappingProxyType(
    {
        "trackers.NAME.kind": partial(
            Key,
            partial(choice, *KINDS),
            "What it is.",
            default_is="none: it has to be said",
            needed=True,
            example="github",
        ),
        "trackers.NAME.project": partial(
            Key,
            text,
            "The issues: of GitHub `owner/repository`, of Linear the key of a team, of Jira the key of a project.",
            example="acme/shop",
        ),
        "trackers.NAME.url": partial(
            Key,
            text,
            "The address of its API, where it is not the vendor's own. Jira needs it: `https://acme.atlassian.net`.",
            example="https://acme.atlassian.net",
        ),
        "trackers.NAME.via": partial(
            Key,
            partial(choice, "auto", "api", "gh"),
            "GitHub: `api` with a token of the environment, `gh` with the login of that program, `auto` with the token "
            "where there is one, but for pull requests with `gh` where it is installed.",
        ),
        "trackers.NAME.token_env": partial(
            Key,
            variable,
            "The variable of the environment that has the token.",
            default_is="`GITHUB_TOKEN` or `GH_TOKEN`, `LINEAR_API_KEY`, `JIRA_API_TOKEN`",
            example="SHOP_TOKEN",
        ),
        "trackers.NAME.user": partial(
            Key, text, "Jira Cloud: the address of the person whose token it is.", example="bot@example.org"
        ),
        "trackers.NAME.label": partial(Key, text, "Only issues with this label are read.", example="medbay"),
        "trackers.NAME.issue_type": partial(Key, text, "Jira: the type of issues that a split makes.", example="Story"),
        "trackers.NAME.done": partial(
            Key,
            text,
            "Jira: the status of an issue that is closed; by default the first that counts as done.",
            example="Released",
        ),
        "trackers.NAME.dispatch": partial(
            Key, switch, "Whether `medbay up` takes up open issues that carry the tag of a workflow."
        ),
        "trackers.NAME.agent": partial(Key, text, "The agent that works on issues.", example="claude"),
        "trackers.NAME.run": partial(
            Key,
            text,
            "The command that works on issues, for the shell: it gets `MEDBAY_ISSUE`, and the issue as JSON in the "
            "file `MEDBAY_INPUT`.",
            example="./work.sh",
        ),
        "trackers.NAME.checks": partial(
            Key, texts, "The checks of issues with the tag `implement_verify_close`.", example=["make test"]
        ),
        "trackers.NAME.poll": partial(
            Key, partial(duration, low_ms=1_000), "How often `medbay up` asks for new issues."
        ),
        "trackers.NAME.timeout": partial(
            Key, partial(duration, low_ms=1_000), "How long one call of the tracker may take."
        ),
        "trackers.NAME.limit": partial(
            Key, partial(whole, 1, 100_000), "How many open issues are read at most; the rest is named as left out."
        ),
    }
)

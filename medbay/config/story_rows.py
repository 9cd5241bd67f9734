"""The rows of the table of settings that stories and their roles have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from medbay.config.key import Key
from medbay.config.kinds import choice, duration, factor, switch, text, texts, whole

STORY_SECTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "story": "Stories and their workflows: `medbay story`.",
        "roles.NAME": "Who does the work of a role: pm, qa, dev, gate, review-lint and the other reviewers. "
        "One table for each.",
    }
)

STORY_ROWS: Final[Mapping[str, Callable[..., Key]]] = MappingProxyType(
    {
        "story.root": partial(
            Key, text, "Where story folders are; a relative path starts at the directory of this file."
        ),
        "story.roles": partial(
            Key, text, "Where the instructions of roles are, as `dev.md`; a role without a file has the shipped ones."
        ),
        "story.workflows": partial(Key, text, "Where workflows of your own are, as `NAME.toml`."),
        "story.commit": partial(
            Key,
            switch,
            "Whether Medbay commits the story folders on the branch that is checked out. Otherwise git ignores them.",
        ),
        "story.worktree": partial(
            Key,
            switch,
            "Whether the phases of a story work in a git worktree and on a branch of its own, "
            "`medbay/story-ID`, from its implementation on.",
        ),
        "story.setup": partial(Key, text, "A command line that prepares a new worktree of a story.", example="npm ci"),
        "story.copy": partial(
            Key, texts, "Files of the main tree, unknown to git, that a worktree gets.", example=[".env"]
        ),
        "story.on_pass": partial(
            Key,
            partial(choice, "keep", "merge", "pr"),
            "What a gate that passes does with the branch of its story: keep it for `medbay story finish`, merge it, "
            "or make it a pull request. The story is completed once that is done.",
        ),
        "story.on_fail": partial(
            Key,
            partial(choice, "ask", "revert"),
            "What a gate that fails after the merge does: the revert is prepared on a branch, and a person is asked "
            "whether to merge it, or it is merged.",
        ),
        "story.fast_track": partial(
            Key,
            partial(choice, "ask", "never", "always"),
            "Whether stories with fewer than three criteria skip the audit of their elaboration; `ask` asks a person, "
            "unless one has said it before.",
        ),
        "story.max_review_rounds": partial(
            Key, partial(whole, 1, 100), "After so many failed reviews a story is blocked and a person asked."
        ),
        "story.worker_timeout": partial(Key, partial(duration, low_ms=1_000), "How long a reviewer may take."),
        "story.phase_timeout": partial(Key, partial(duration, low_ms=1_000), "How long any other role may take."),
        "story.partial_pass_threshold": partial(
            Key, partial(factor, 0, 1), "The share of reviewers that has to pass, among those that answered."
        ),
        "story.fail_fast": partial(Key, switch, "Whether the first reviewer that fails stops the others."),
        "roles.NAME.agent": partial(Key, text, "The agent that does it.", example="claude", needed=True),
        "roles.NAME.command": partial(
            Key,
            texts,
            "The command that does it, as a list of arguments: it gets `MEDBAY_STORY`, `MEDBAY_PHASE`, "
            "`MEDBAY_STORY_DIR`, the context as JSON in the file `MEDBAY_INPUT`, and writes its answer to "
            "`MEDBAY_RESULT`. A relative path starts at the directory of this file.",
            example=["./dev.sh"],
            needed=True,
        ),
        "roles.NAME.timeout": partial(
            Key, partial(duration, low_ms=1_000), "How long it may take.", default_is="as [story] says", example="1h"
        ),
        "roles.NAME.fallback": partial(
            Key,
            texts,
            "The command that takes over once an outside service stays away.",
            example=["./offline.sh"],
        ),
    }
)

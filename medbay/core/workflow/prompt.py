"""What an agent is told for its part of a phase: what changes least first, so that caches find it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medbay.core.attempt.prompt import quote
from medbay.core.workflow.records import Story
from medbay.core.workflow.workflow import Phase


def told(role: str, phase: Phase, story: Story, pieces: Sequence[Mapping[str, Any]], context: Mapping[str, Any]) -> str:
    """The description of the task that an agent gets: context, the story, and how to answer."""
    parts = [str(each["text"]).strip() for each in pieces]
    criteria = "\n".join(f"{number}. {text}" for number, text in enumerate(story.criteria, start=1)) or "(none yet)"
    about = f"{story.title}\n{story.description}".strip()
    parts.append(f"## Story {story.id}\n\n{quote(about)}\n\nAcceptance criteria:\n\n{quote(criteria)}")
    for name, heading in (("findings", "What was found"), ("decided", "What was decided")):
        if context.get(name):
            parts.append(f"## {heading}\n\n" + quote("\n".join(map(str, context[name]))))
    words = ", ".join(dict.fromkeys([*(phase.verdicts if not phase.workers else ()), "PASS", "FAIL", "ERROR"]))
    parts.append(
        f"## Answer\n\nYou work as {role} in the phase {phase.name}. When you are done, write a JSON object to the file"
        f" named by MEDBAY_RESULT: `verdict` (one of {words}), `summary` (one line), and where they apply `evidence`"
        ' (a list of {"criterion": NUMBER, "shows": TEXT, "path": FILE}), `artifacts` (paths), `criteria` (texts),'
        ' `parts` (a list of {"title", "criteria"}), `decisions` (a list of {"question", "options", "default"}) and'
        " `learnings` (texts). Without a verdict the phase has failed."
    )
    return "\n\n".join(parts)

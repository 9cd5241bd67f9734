"""What an agent is told for its part of a phase: what changes least first, so that caches find it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from medbay.core.attempt.prompt import quote
from medbay.core.model import Task
from medbay.core.workflow.answer import verdicts_of
from medbay.core.workflow.records import Story

_STATIC: Final = "static"  # the tier of what people wrote for this project; the others quote what roles said
_ANSWER: Final = """\
You work as {role} in the phase {phase} of the story {story}. Nobody watches while you work: decide small things \
yourself and say what you decided. When you are done, write a JSON object to the file named by the environment \
variable MEDBAY_RESULT, or say it as your last words and nothing after it. Without a verdict the phase has failed.

- `verdict`: one of {verdicts}.
- `summary`: one line about what you did or found.
- `evidence`: a list of {{"criterion": NUMBER, "shows": TEXT, "path": FILE}}, for what shows that a criterion holds.
- `decisions`: a list of {{"question": TEXT, "options": [TEXT], "default": TEXT}}, for what is costly or cannot be \
undone: a person decides it before the story goes on.
- `criteria` and `description`: of a story that you write or refine; `parts`, a list of {{"title": TEXT, "criteria": \
[TEXT]}}: of one that you split.
- `artifacts`: the paths of files that matter; `learnings`: texts that the next one who works as you should know.

Leave out what does not apply. A YAML file that you write into the folder `_implementation` below MEDBAY_STORY_DIR \
must have its published shape (`medbay story schema NAME` prints it)."""


def told(story: Story, pieces: Sequence[Mapping[str, Any]], context: Mapping[str, Any]) -> str:
    """The description of the task that an agent gets: who it is, what is known, and the story."""
    parts = [_piece(each) for each in pieces]
    criteria = "\n".join(f"{number}. {text}" for number, text in enumerate(story.criteria, start=1)) or "(none yet)"
    about = f"{story.title}\n{story.description}".strip()
    parts.append(f"## Story {story.id}\n\n{quote(about)}\n\nAcceptance criteria:\n\n{quote(criteria)}")
    for name, heading in (("findings", "What was found"), ("decided", "What was decided")):
        if context.get(name):
            parts.append(f"## {heading}\n\n" + quote("\n".join(map(str, context[name]))))
    return "\n\n".join(parts)


def _piece(each: Mapping[str, Any]) -> str:
    """One piece of context; what roles said is data, under the words that say what it is."""
    text = str(each["text"]).strip()
    if each["tier"] == _STATIC:
        return text
    heading, _, rest = text.partition("\n")
    return f"{heading}\n\n{quote(rest)}"


def answer_wanted(task: Task) -> str:
    """How the role of a phase is to answer; said at the end of every prompt, also where a session goes on."""
    phase = dict(task.env).get("MEDBAY_PHASE", "")
    return _ANSWER.format(role=task.role, phase=phase, story=task.owner_id, verdicts=", ".join(verdicts_of(task)))

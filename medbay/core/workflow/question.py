"""What a phase wants decided, and what a person is asked about a story."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from medbay.core.decision import Draft, QuestionClosed
from medbay.core.model import Event, Option, Owner, Question
from medbay.core.people.preference import Preference
from medbay.core.untrusted import line
from medbay.core.workflow.answer import WantedDecision
from medbay.core.workflow.records import OWNER, DecisionKind, Story, StoryDecision

DECIDE: Final = "decide"
GO_ON: Final = "continue"
CANCEL: Final = "cancel"
WAIT: Final = "wait"
KEEP: Final = "keep"  # the work stays on its branch
REVERT: Final = "revert"  # its merge is undone
LEAVE: Final = "leave"  # nothing changes, and it is not asked again
PREFERENCE: Final = "decision:"  # what the scope of a preference for a decision begins with
SHOWN_MAX: Final = 2_000

# The rule table: the first row whose words a question has decides; what no row knows is asked.
_RULES: Final[tuple[tuple[DecisionKind, str], ...]] = (
    ("irreversible", r"delet|drop|destroy|wip(?:e|ing)|purge|publish|deploy|releas|force.push|send e?-?mail|payment"),
    ("irreversible", r"(?:rotate|revoke|share|expose) .{0,20}(?:key|secret|token|password)"),
    ("costly", r"migrat|schema|breaking|public api|architect|framework|licen[cs]e|dependenc|vendor|\bcosts?\b|price"),
    ("costly", r"security|\bauth|privacy|data ?base"),
    ("trivial", r"\bnam(?:e|ed|es|ing)\b|\bword|typo|format|indent|colou?r|comment|spelling|whitespace|order of"),
    ("trivial", r"plural|abbreviat|capital"),
    ("reversible", r"refactor|default|layout|\bplaced?\b|folder|\bfiles?\b|\btests?\b|\blogs?\b|message|timeout|limit"),
    ("reversible", r"\bflags?\b|style|structure|inline|module|function"),
)
_TABLE: Final = tuple((kind, re.compile(words, re.IGNORECASE)) for kind, words in _RULES)
_KEY: Final = re.compile(r"[^a-z0-9]+")


def classify(asked: WantedDecision) -> tuple[DecisionKind, str]:
    """How much depends on a decision, and by which rule. What a role says itself may only make it weightier."""
    found: DecisionKind = "costly"
    why = "no rule knows it"
    for kind, words in _TABLE:
        if hit := words.search(asked.question):
            found, why = kind, f'"{hit[0].lower()}"'
            break
    else:
        if asked.kind is not None:
            return asked.kind, "the role says so"
    if asked.kind is not None and _WEIGHT.index(asked.kind) > _WEIGHT.index(found):
        return asked.kind, "the role says so"
    return found, why


_WEIGHT: Final = ("trivial", "reversible", "costly", "irreversible")
DECIDED_HERE: Final = frozenset({"trivial", "reversible"})


def scope_of(question: str) -> str:
    """The scope a preference for this decision has, whichever story asks."""
    return PREFERENCE + _KEY.sub("-", question.lower()).strip("-")[:120]


def decided(asked: WantedDecision, preferences: Mapping[str, str]) -> tuple[str, str]:
    """What is answered without a person, and by what: a preference that fits, else the default."""
    known = preferences.get(scope_of(asked.question))
    if known is not None and (not asked.options or known in asked.options):
        return known, "preference"
    default = asked.default or (asked.options[0] if asked.options else "as you think best")
    return default, "default"


def remembered(decision: StoryDecision, words: str, *, by: str, now: int) -> Preference:
    """What is kept of a decision: the next story that asks the same, and asks little, is answered by it."""
    return Preference(scope=scope_of(decision.question), answer=words, told_by=by, told_at=now)


def ask_decision(story: Story, decision: StoryDecision, now: int) -> Question:
    """Ask a person what a phase wants decided; any words are an answer. It is never joined with another story's."""
    options = tuple(Option(each, DECIDE, f"{story.id} goes on with this") for each in decision.options)
    return Question(
        id=f"q-{story.id}-{story.questions + 1}",
        need=f"{line(story.title, 100)}: {line(decision.question, 300)}",
        why=f"{decision.phase} asks, and it is {decision.kind} ({decision.why})",
        evidence=decision.question[:SHOWN_MAX],
        options=options or (Option("in your own words", DECIDE, f"{story.id} goes on with your words"),),
        default=1,
        owner=Owner(OWNER, story.id),
        free_text=True,
        asked_at=now,
    )


def ask_blocked(story: Story, need: str, why: str, now: int, *, go_on: str, evidence: str = "") -> Question:
    """Ask a person about a story that is blocked."""
    return Question(
        id=f"q-{story.id}-{story.questions + 1}",
        need=f"{line(story.title, 100)}: {line(need, 300)}",
        why=line(why, 500),
        evidence=evidence[:SHOWN_MAX],
        options=(
            Option(go_on, GO_ON, "it goes back to where it was blocked from, and on"),
            Option("leave it blocked", WAIT, "until medbay story unblock"),
            Option("cancel the story", CANCEL, "ends it for good"),
        ),
        default=1,
        owner=Owner(OWNER, story.id),
        asked_at=now,
    )


def closed(draft: Draft[Story], asked: Question, said: str) -> QuestionClosed:
    """A question about a story was answered."""
    draft.events.append(Event(name="question:answered", data={"question": asked.id, "by": draft.actor, "answer": said}))
    return QuestionClosed(question_id=asked.id, task_id="", whole=True, by=draft.actor, answer=said)

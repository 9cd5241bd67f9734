"""What is kept of a story: where it stands, the runs of its phases, what was decided and what shows that it is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal

from msgspec import Struct, field

from medbay.core import lifecycles
from medbay.core.agent import ToolUse
from medbay.core.model import DEFAULT_PRIORITY, DEFAULT_QUEUE

OWNER: Final = "story"  # the kind of owner that the tasks of a phase have
SETUP: Final = "setup"  # what a task of a phase waits for: its folder and its context are made first
PRESET: Final = "phase"  # the policy of the tasks of a phase
ENFORCEMENTS: Final = ("advisory", "warning", "soft_gate", "hard_gate")

RunStatus = Literal["SETUP", "RUNNING", "PASS", "FAIL", "ERROR", "TIMEOUT", "CANCELLED"]
PartStatus = Literal["", "PASS", "FAIL", "ERROR", "TIMEOUT", "STOPPED"]
DecisionKind = Literal["trivial", "reversible", "costly", "irreversible"]


class EvidenceEntry(Struct, frozen=True, kw_only=True):
    """What shows that one acceptance criterion holds, where it is, and its hash when it was handed in."""

    criterion: int  # from 1
    shows: str
    path: str
    phase: str
    hash: str = ""  # nothing: it was not there


class StoryGit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The branch of a story, and what became of it."""

    branch: str = ""  # empty: it has none, and its roles work in the project itself
    base: str = ""  # the branch it began on
    worktree: str = ""
    directory: str = ""  # where its roles work: the place of the project in the worktree
    landing: int = 0  # the number of the run whose pass is to be merged or to become a pull request
    conflict: str = ""  # what it conflicts with, until a role has seen to it
    conflicts: int = 0  # in a row
    merge_commit: str = ""
    pull_request: str = ""
    came_back: str = ""  # what checks and reviewers say of its pull request, until a role has seen to it
    reverting: Literal["", "due", "asked", "agreed"] = ""
    revert_branch: str = ""
    revert_commit: str = ""  # what undid the merge


class Story(Struct, frozen=True, kw_only=True):
    """A long piece of work. Its status changes by the lifecycle of its workflow only."""

    kind: ClassVar[str] = OWNER

    id: str
    title: str
    description: str = ""
    workflow: str = "story"
    definition: str = ""  # the hash of its workflow as it was when the story was made
    criteria: tuple[str, ...] = ()
    priority: int = DEFAULT_PRIORITY
    depends_on: tuple[str, ...] = ()
    enforcement: str = "warning"
    multiplier: float = 1.0
    root: str = ""  # the directory of all story folders
    project: str = ""  # where its roles work
    blocked_from: str = ""
    elaborated: bool = False  # its scope is settled
    has_review: bool = True
    driven: bool = False  # its phases follow each other by themselves
    until: str = ""  # a status at which that ends
    queue: str = DEFAULT_QUEUE
    waiting: bool = False  # for the answer to a decision of a phase
    rounds: int = 0  # reviews that failed since its scope was settled
    rounds_granted: int = 0  # by a person, on top of `max_review_rounds`
    fast: bool = False  # its elaboration is skipped
    parts: tuple[str, ...] = ()  # the stories it was split into
    split_of: str = ""
    confirmed: tuple[str, ...] = ()  # the budgets a person let it exceed
    evidence: tuple[EvidenceEntry, ...] = ()
    forgiven: int = 0  # failures of runs up to this number count no more: a person said go on
    run: int = 0  # the number of the run that is open
    runs: int = 0
    questions: int = 0
    files_due: bool = True  # its folder is not yet as this record says
    files_by: str = ""  # who brings it there
    files_until: int | None = None
    directory: str = ""  # where its folder was put last, below the root
    merged: bool = False
    git: StoryGit = field(default_factory=StoryGit)
    created_at: int = 0
    created_by: str = ""
    status: str = "pending"
    since: int = 0
    reason: str = ""
    version: int = 0
    ended_at: int | None = None

    @property
    def lifecycle(self) -> str:
        """The name of its table."""
        return self.workflow

    def permits(self, guard: str, target: str) -> bool:
        """Whether it may take a move that carries this guard."""
        match guard:
            case lifecycles.BLOCKED_FROM:
                return target == self.blocked_from
            case lifecycles.PAST_ELABORATION:
                return self.elaborated or target == self.blocked_from
            case lifecycles.SPLIT_PART:
                return bool(self.split_of)
            case _:
                return not self.has_review


class PartAttempt(Struct, frozen=True, kw_only=True):
    """One attempt of a part: when, with which model, for how much, and what it used."""

    started_at: int
    ended_at: int | None = None
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    tools: tuple[ToolUse, ...] = ()


class RunPart(Struct, frozen=True, kw_only=True):
    """One role's share of a run: a task, and what came of it."""

    role: str
    task_id: str
    phase: str = ""  # where it is not the run's own: the one that runs beside it
    required: bool = False
    status: PartStatus = ""
    verdict: str = ""
    summary: str = ""
    result: Mapping[str, Any] = field(default_factory=dict)
    agent: str = ""
    model: str = ""
    started_at: int | None = None
    ended_at: int | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    tool_calls: int = 0
    attempts: int = 0
    error_type: str = ""
    session: str = ""  # of the agent, as it named it last
    cost: int = 0  # in millionths
    tried: tuple[PartAttempt, ...] = ()  # its attempts, once they are counted
    fallback: tuple[str, ...] = ()  # the command that takes over when an outside service stays away


class StoryRules(Struct, frozen=True, kw_only=True):
    """How runs are judged, by the configuration when they started."""

    threshold: float = 1.0
    fail_fast: bool = False
    max_rounds: int = 3
    on_pass: str = "keep"
    breaks_at: int = 3  # failures of one type in a row, then the breaker of the phase opens
    forced: bool = False  # run again from where the table has no way: a verdict without a move leaves the status


class PhaseRun(Struct, frozen=True, kw_only=True):
    """One run of one phase of a story, from its setup to its verdict."""

    story_id: str
    number: int  # from 1, over all phases of the story
    phase: str
    command: str = ""
    status: RunStatus = "SETUP"
    verdict: str = ""
    error_type: str = ""
    summary: str = ""
    started_at: int = 0
    prepared_at: int | None = None
    ended_at: int | None = None
    completed_at: int | None = None  # when what it left was counted and written down
    parts: tuple[RunPart, ...] = ()
    rules: StoryRules = field(default_factory=StoryRules)
    context: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] = field(default_factory=dict)
    version: int = 0

    @property
    def is_open(self) -> bool:
        """Whether it has not ended."""
        return self.ended_at is None

    @property
    def tokens_in(self) -> int:
        """What its parts were told, in tokens."""
        return sum(each.tokens_in for each in self.parts)

    @property
    def tokens_out(self) -> int:
        """What its parts said, in tokens."""
        return sum(each.tokens_out for each in self.parts)

    @property
    def tokens(self) -> int:
        """What it cost, in tokens."""
        return self.tokens_in + self.tokens_out

    @property
    def cost(self) -> int:
        """What it cost, in millionths, as far as it is known."""
        return sum(each.cost for each in self.parts)

    @property
    def tool_calls(self) -> int:
        """How often its parts used a tool."""
        return sum(each.tool_calls for each in self.parts)

    @property
    def agent_spawns(self) -> int:
        """How many attempts its parts took."""
        return sum(each.attempts for each in self.parts)


class RunChanged(Struct, frozen=True, kw_only=True):
    """A run is written: a new one (`before` None), or one as it was read and as it is to be."""

    before: PhaseRun | None
    after: PhaseRun


class StoryDecision(Struct, frozen=True, kw_only=True):
    """What a phase asked: answered by a preference or a default, or open until a person answers."""

    story_id: str
    number: int
    phase: str
    question: str
    options: tuple[str, ...] = ()
    kind: DecisionKind = "costly"
    why: str = ""  # the rule that classified it
    answer: str = ""
    answered_by: str = ""  # nothing: it is open
    question_id: str = ""
    at: int = 0

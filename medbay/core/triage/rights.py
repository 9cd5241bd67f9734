"""What a verdict may do: rights in code, not in a prompt. A verdict touches the failing task and what it creates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from medbay.core.agent import CLASSES, is_agents, needs_change, next_classes, profile_of, runner_of
from medbay.core.attempt.guidance import advice_line
from medbay.core.diagnosis.record import Diagnosis
from medbay.core.durations import format_duration
from medbay.core.model import TRIAGE, Task
from medbay.core.policy.backoff import DAY_MS
from medbay.core.tracker import tiers
from medbay.core.triage.case import Means, TriageCase
from medbay.core.triage.cycle import RUNNER, is_newest
from medbay.core.triage.verdict import WORDS, Adjustment, Refusal, Verdict, Word

DEPTH_MAX: Final = 2  # no fix of a fix of a fix, no part of a part of a part
PARTS: Final = range(2, 11)
DESCENDANTS_MAX: Final = 20

# A verdict on an incident touches its question, its canaries and one fix.
ON_INCIDENTS: Final[tuple[Word, ...]] = ("NOOP", "FILE_FIX", "PAUSE", "RECOMMEND_CONFIG", "ESCALATE")

# What has happened to a task since its triage started that makes the verdict stale.
_ACTS: Final = {
    "task:started": "it has started again",
    "task:completed": "it has succeeded",
    "task:iteration_done": "it has succeeded",
    "task:rescued": "it was rescued",
    "task:cancelled": "it was cancelled",
    "task:cancel_requested": "it is being cancelled",
    "task:paused": "it was paused",
    "task:resumed": "it was paused and resumed",
    "task:edited": "it was edited",
    "task:reclassified": "its failure was corrected by a person",
    "question:answered": "its question was answered",
    "task:unblocked": "it was released from a block",
    "task:blocked": "it was blocked",
}

# Where only a change can help: the same again would be the same failure.
_CHANGES_NOTHING_FOR_AN_AGENT: Final = frozenset({"retry_delay_ms", "timeout_ms"})


def stale(case: TriageCase) -> str | None:
    """Why the verdict comes too late: what happened to the task since the triage started."""
    task = case.task
    if task.finished:
        return "it has succeeded" if task.status == "completed" else "it was cancelled"
    if task.live is not None or task.attempts != case.triage.number:
        return _ACTS["task:started"]
    if task.cancel_requested:
        return _ACTS["task:cancel_requested"]
    if task.paused:
        return _ACTS["task:paused"]
    return next((_ACTS[each] for each in case.acts if each in _ACTS), None)


def overtaken(case: TriageCase) -> bool:
    """Whether the task has failed again since and waits for its triage: this one neither releases nor asks."""
    task = case.task
    return task.waits_for == TRIAGE and (task.wants_triage or not is_newest(task, case.triage))


def outside(verdict: Verdict, case: TriageCase) -> Refusal | None:
    """Every right that the verdict lacks; None when it keeps them all."""
    checks = _FOR_INCIDENTS if case.triage.incident else _CHECKS
    found = [why for check in checks for why in check(verdict, case)]
    return Refusal("; ".join(dict.fromkeys(found))) if found else None


def repetition_forbidden(task: Task, diagnosis: Diagnosis) -> bool:
    """Whether the same again must not be tried: an agent's second failure of a kind where only a change can help."""
    return task.streak >= 2 and needs_change(task, diagnosis)


def allowed(task: Task, *, descendants: int, depth: int) -> tuple[Word, ...]:
    """The verdicts that can be within the rights for this task."""
    if _is_triage(task):
        return ()
    room = depth < DEPTH_MAX and task.status != "blocked"
    without: set[Word] = set()
    if not room or any(_cannot_be_split(task)) or descendants + PARTS.start > DESCENDANTS_MAX:
        without.add("SPLIT")
    if not room:
        without.add("FILE_FIX")
    if any(_cannot_be_reviewed(task, depth)):
        without.add("SPEC_REFRESH")
    if task.status == "blocked":
        without |= {"SPEC_REFRESH", "PAUSE"}
    return tuple(word for word in WORDS if word not in without)


def _is_triage(task: Task) -> bool:
    return task.role == "triage" or task.runner == RUNNER


def _of_a_triage(verdict: Verdict, case: TriageCase) -> Iterator[str]:
    if _is_triage(case.task):
        yield "there is no triage of a triage"


def _names_another(verdict: Verdict, case: TriageCase) -> Iterator[str]:
    mine = case.triage.incident
    if verdict.task_id not in ("", case.task.id, mine):
        yield f"it is about {verdict.task_id}, not {case.task.id}"
    if verdict.attempt not in (None, case.triage.number):
        yield f"it judges attempt {verdict.attempt}, not {case.triage.number}"


def _changes_many(verdict: Verdict, case: TriageCase) -> Iterator[str]:
    if verdict.word not in ON_INCIDENTS:
        yield f"{verdict.word} changes a task, and an incident is about many: no verdict changes them all"


def _gives_orders(verdict: Verdict, case: TriageCase) -> Iterator[str]:
    if verdict.orders:
        yield f"no verdict can carry this: {', '.join(verdict.orders)}"


def _carries_more(verdict: Verdict, case: TriageCase) -> Iterator[str]:
    if verdict.adjust is not None and verdict.word != "ADJUST":
        yield f"{verdict.word} cannot change the task"
    if verdict.parts and verdict.word != "SPLIT":
        yield f"{verdict.word} cannot make parts"
    if verdict.fixes and verdict.word != "FILE_FIX":
        yield f"{verdict.word} cannot file a fix"


def _while_blocked(verdict: Verdict, case: TriageCase) -> Iterator[str]:
    """What a person was asked, only a person answers: a verdict may advise and adjust, not release or replace."""
    waits = case.task.status == "blocked" or (verdict.word == "SPLIT" and case.question is not None)
    if waits and verdict.word in ("SPLIT", "FILE_FIX", "SPEC_REFRESH", "PAUSE"):
        yield f"{case.task.id} waits for a person, which {verdict.word} cannot change"


def _adjusts(verdict: Verdict, case: TriageCase) -> Iterator[str]:
    if verdict.word != "ADJUST":
        return
    wanted = verdict.adjust
    if wanted is None:
        yield "ADJUST changes nothing"
        return
    yield from beyond(case.task, wanted, case.means)
    changed = diff(case.task, wanted).keys()
    if not changed:
        yield why_nothing(case.task, wanted)
    elif changed <= _CHANGES_NOTHING_FOR_AN_AGENT and _forbidden(case):
        yield "ADJUST changes nothing that the next attempt would do differently"
    if "criteria" in changed and case.depth >= DEPTH_MAX:
        yield _too_deep("follow-up", case.task, case.depth)


def _forbidden(case: TriageCase) -> bool:
    return case.diagnosis is not None and repetition_forbidden(case.task, case.diagnosis)


def _splits(verdict: Verdict, case: TriageCase) -> Iterator[str]:
    if verdict.word != "SPLIT":
        return
    task, number = case.task, len(verdict.parts)
    yield from _cannot_be_split(task)
    if number not in PARTS:
        yield f"a split makes {PARTS.start} to {PARTS.stop - 1} parts, not {number}"
    if bare := [each.title for each in verdict.parts if not each.description.strip()]:
        yield f"{len(bare)} of its parts say nothing but their title: {bare[0]}"
    if case.depth >= DEPTH_MAX:
        yield _too_deep("part", task, case.depth)
    if case.descendants + number > DESCENDANTS_MAX:
        yield f"its family would have {case.descendants + number} parts, {DESCENDANTS_MAX} are allowed"


def _cannot_be_split(task: Task) -> Iterator[str]:
    if not is_agents(task) and task.policy != tiers.PRESET:
        yield "only what an agent works on can be split"
    if task.recurs:
        yield "a split ends the task, and this one recurs"
    if task.role in ("review", "fix"):
        yield f"it is the {task.role} that {task.owner_id} waits for, as a whole"


def _files(verdict: Verdict, case: TriageCase) -> Iterator[str]:
    if verdict.word != "FILE_FIX":
        return
    if len(verdict.fixes) != 1:
        yield f"one fix may be filed, not {len(verdict.fixes)}"
    if case.depth >= DEPTH_MAX:
        yield _too_deep("fix", case.task, case.depth)


def _refreshes(verdict: Verdict, case: TriageCase) -> Iterator[str]:
    if verdict.word == "SPEC_REFRESH":
        yield from _cannot_be_reviewed(case.task, case.depth)


def _cannot_be_reviewed(task: Task, depth: int) -> Iterator[str]:
    if task.role == "review":
        yield "it is a review itself"
    elif depth >= DEPTH_MAX:
        yield _too_deep("review", task, depth)


def _too_deep(what: str, task: Task, depth: int) -> str:
    return f"a {what} of {task.id} would be {depth + 1} steps away from what a person added, {DEPTH_MAX} are allowed"


_Check = Callable[[Verdict, TriageCase], Iterator[str]]
_CHECKS: Final[tuple[_Check, ...]] = (
    _of_a_triage,
    _names_another,
    _gives_orders,
    _carries_more,
    _while_blocked,
    _adjusts,
    _splits,
    _files,
    _refreshes,
)
_FOR_INCIDENTS: Final[tuple[_Check, ...]] = (_changes_many, _names_another, _gives_orders, _carries_more, _files)


TIMES_LONGER: Final = 4
TIMES_SHORTER: Final = 4
LEAST_TIMEOUT_MS: Final = 1_000
MOST_WITHOUT_ONE_MS: Final = DAY_MS  # for a task that had no time limit
MOST_DELAY_MS: Final = DAY_MS

_HEADING: Final = re.compile(r"^\s*(?:#{1,6}\s+\S|\S.*:\s*$)")
_OF_CRITERIA: Final = re.compile(r"criteri(?:a|on)\b", re.IGNORECASE)
_ITEM: Final = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s*)?(\S.*)$")


@dataclass(frozen=True, slots=True)
class Criterion:
    """One acceptance criterion of a specification: its text and the lines it stands in."""

    text: str
    first: int
    last: int


def diff(task: Task, wanted: Adjustment) -> dict[str, list[Any]]:
    """What would be different: name -> [before, after]; guidance is new when its advice differs."""
    found: dict[str, list[Any]] = {}
    if wanted.timeout_ms not in (None, task.timeout_ms):
        found["timeout_ms"] = [task.timeout_ms, wanted.timeout_ms]
    if wanted.model not in ("", task.model):
        found["model"] = [task.model, wanted.model]
    if wanted.profile and runner_of(wanted.profile) != task.runner:
        found["runner"] = [task.runner, runner_of(wanted.profile)]
    if wanted.fresh_session and not task.fresh_session:
        found["fresh_session"] = [False, True]
    if wanted.guidance and advice_line(wanted.guidance) not in {each.advice for each in task.guidance}:
        found["guidance"] = ["", wanted.guidance]
    if wanted.retry_delay_ms and _waits_for_its_retry(task):
        found["retry_delay_ms"] = [None, wanted.retry_delay_ms]
    if wanted.keep_criteria is not None:
        kept, dropped = parted(task.spec, wanted.keep_criteria)
        if dropped:
            found["criteria"] = [[each.text for each in criteria(task.spec)], [each.text for each in kept]]
    return found


def _waits_for_its_retry(task: Task) -> bool:
    """Whether a delay says anything: what is blocked or comes after others waits for those, however long."""
    return task.status == "failed"


def why_nothing(task: Task, wanted: Adjustment) -> str:
    """Why an adjustment would leave everything as it is, in words for the person who decides now."""
    advice = advice_line(wanted.guidance) if wanted.guidance else ""
    told = [each.attempt for each in task.guidance if each.advice == advice]
    if told:
        return f'its only advice is what attempt {told[-1]} was told already: "{advice}"'
    if wanted.retry_delay_ms and not _waits_for_its_retry(task):
        return f"a retry delay changes nothing while it is {task.status}"
    return "it asks for what the task has already" if wanted != Adjustment() else "ADJUST changes nothing"


def beyond(task: Task, wanted: Adjustment, means: Means) -> list[str]:
    """Every limit that it does not keep."""
    return [
        *_timeout(task, wanted),
        *_of_agents(task, wanted, means),
        *_delay(wanted),
        *(_narrowed(task, wanted.keep_criteria) if wanted.keep_criteria is not None else ()),
    ]


def timeout_limits(task: Task) -> tuple[int, int]:
    """Between which time limits a verdict may choose."""
    if task.timeout_ms is None:
        return LEAST_TIMEOUT_MS, MOST_WITHOUT_ONE_MS
    least = max(LEAST_TIMEOUT_MS, task.timeout_ms // TIMES_SHORTER)
    return least, max(least, task.timeout_ms * TIMES_LONGER)


def _timeout(task: Task, wanted: Adjustment) -> Iterator[str]:
    least, most = timeout_limits(task)
    if wanted.timeout_ms is not None and not least <= wanted.timeout_ms <= most:
        asked = format_duration(wanted.timeout_ms)
        yield f"a time limit of {asked} is outside {format_duration(least)} to {format_duration(most)}"


def _of_agents(task: Task, wanted: Adjustment, means: Means) -> Iterator[str]:
    if not is_agents(task):
        if wanted.model or wanted.profile or wanted.fresh_session:
            yield "only an agent has a model, a profile or a session"
        return
    if wanted.model not in ("", task.model, *means.models, *next_classes(task)):
        far = wanted.model in CLASSES
        yield f'the model "{wanted.model}" is ' + ("more than one class away" if far else "not configured")
    if wanted.profile and wanted.profile not in means.profiles:
        yield f'the agent "{wanted.profile}" is not configured'


def _delay(wanted: Adjustment) -> Iterator[str]:
    if wanted.retry_delay_ms is not None and wanted.retry_delay_ms > MOST_DELAY_MS:
        asked, most = format_duration(wanted.retry_delay_ms), format_duration(MOST_DELAY_MS)
        yield f"a retry delay of {asked} is longer than {most}"


def _narrowed(task: Task, keep: tuple[str, ...]) -> Iterator[str]:
    known = criteria(task.spec)
    if not known:
        yield "its specification has no acceptance criteria to choose from"
        return
    strange = [each for each in keep if _meant(each, known) is None]
    if strange:
        yield f'"{strange[0][:120]}" is no acceptance criterion of its specification'
    if not keep:
        yield "no acceptance criterion would be left"
    if task.role in ("review", "fix"):
        yield f"it is the {task.role} that {task.owner_id} waits for, as a whole"
    if task.recurs:
        yield "nothing can come after a task that recurs, so nothing can be left for later"


def criteria(spec: str) -> tuple[Criterion, ...]:
    """The acceptance criteria: the items below a heading that names them, or all items where there is none."""
    lines = spec.split("\n")
    heading = next((at for at, each in enumerate(lines) if _HEADING.match(each) and _OF_CRITERIA.search(each)), -1)
    found: list[Criterion] = []
    for at, each in enumerate(lines[heading + 1 :], start=heading + 1):
        item = _ITEM.match(each)
        if item is not None:
            found.append(Criterion(" ".join(item[1].split()), at, at))
        elif heading >= 0 and _HEADING.match(each):
            break
        elif found and found[-1].last == at - 1 and each.startswith((" ", "\t")) and each.strip():
            last = found[-1]
            found[-1] = Criterion(f"{last.text} {' '.join(each.split())}", last.first, at)
    return tuple(found)


def parted(spec: str, keep: tuple[str, ...]) -> tuple[list[Criterion], list[Criterion]]:
    """The criteria that stay and those that are left for later; each is named by its number or its words."""
    known = criteria(spec)
    meant = {_meant(each, known) for each in keep}
    kept = [each for at, each in enumerate(known) if at in meant]
    return kept, [each for each in known if each not in kept]


def without(spec: str, dropped: list[Criterion]) -> str:
    """The specification without these criteria."""
    gone = {at for each in dropped for at in range(each.first, each.last + 1)}
    return "\n".join(each for at, each in enumerate(spec.split("\n")) if at not in gone)


def _meant(name: str, known: tuple[Criterion, ...]) -> int | None:
    """Which criterion is named, from 0."""
    words = " ".join(name.casefold().split())
    if words.isdecimal():
        return int(words) - 1 if 1 <= int(words) <= len(known) else None
    return next((at for at, each in enumerate(known) if each.text.casefold() == words), None)


def limits(task: Task, means: Means) -> Mapping[str, Any]:
    """The limits as an agent sees them."""
    least, most = timeout_limits(task)
    told: dict[str, Any] = {
        "guidance": "words for the next attempt that were not said before",
        "timeout_s": [least / 1000, most / 1000],
    }
    if _waits_for_its_retry(task):
        told["retry_delay_s"] = [0, MOST_DELAY_MS // 1000]
    if is_agents(task):
        models = list(dict.fromkeys((*next_classes(task), *means.models)))
        told |= {"model": models, "profile": list(means.profiles), "fresh_session": [True, False]}
    if task.spec and not task.recurs:
        told["keep_criteria"] = f"some of the numbers 1 to {len(criteria(task.spec))} of the acceptance criteria"
    return told


def accounts(task: Task, profile: str, means: Means) -> tuple[str, ...]:
    """What it needs when another agent works on it: that one's account instead of the old one's."""
    old = means.accounts.get(profile_of(task.runner), ())
    kept = [each for each in task.resources if each not in old]
    return tuple(dict.fromkeys((*kept, *means.accounts.get(profile, ()))))


_CALLED: Final = {"timeout_ms": "time limit", "retry_delay_ms": "retry delay"}


def shown(diff: Mapping[str, Any]) -> Iterator[str]:
    """A diff in words, one for each thing that changed."""
    for name, (before, after) in diff.items():
        if name in ("timeout_ms", "retry_delay_ms"):
            was = "none" if before is None else format_duration(before)
            yield f"{_CALLED[name]} {was} → {format_duration(after)}"
        elif name == "criteria":
            yield f"{len(after)} of {len(before)} acceptance criteria"
        elif name in ("model", "runner"):
            yield f"{name} {before or 'default'} → {after}"
        elif name == "guidance":
            yield "new advice"
        else:
            yield name.replace("_", " ")

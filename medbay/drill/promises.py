"""What is promised, line by line, and how it is judged: pure functions from what was seen to what is wrong with it.

`drill.trials` brings the facts; nothing here touches a file, a process or a clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Facts = Mapping[str, Any]
Result = Literal["PASS", "FAIL", "SKIP"]


@dataclass(frozen=True, slots=True)
class Promise:
    """One line of the drill: its name, what is promised, how the facts read, and what would be wrong with them."""

    name: str
    promised: str
    seen: str  # filled in with the facts
    wrong: Callable[[Facts], list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialVerdict:
    """What came of one line."""

    name: str
    promised: str
    seen: str
    result: Result
    why: str = ""
    seconds: float = 0.0
    facts: Facts = field(default_factory=dict)


def judge(promise: Promise, facts: Facts, seconds: float = 0.0) -> TrialVerdict:
    """Hold what was seen against what is promised. A trial that could not be made says so and is no PASS."""
    made: dict[str, Any] = {
        "name": promise.name,
        "promised": promise.promised,
        "seconds": round(seconds, 1),
        "facts": dict(facts),
    }
    if skipped := facts.get("skipped"):
        return TrialVerdict(**made, seen="", result="SKIP", why=str(skipped))
    if broken := facts.get("broken"):
        return TrialVerdict(**made, seen="", result="FAIL", why=f"the trial broke off: {broken}")
    try:
        wrong = promise.wrong(facts)
        seen = promise.seen.format_map(facts)
    except (KeyError, TypeError, ValueError) as error:
        return TrialVerdict(**made, seen="", result="FAIL", why=f"the facts are not whole: {error!r}")
    return TrialVerdict(**made, seen=seen, result="FAIL" if wrong else "PASS", why="; ".join(wrong))


def _unless(*held: tuple[bool, str]) -> list[str]:
    return [said for holds, said in held if not holds]


def _ended_alone(facts: Facts) -> list[str]:
    """What is wrong with a task that had to heal by itself."""
    return _unless(
        (facts["status"] == "completed", f"the task is {facts['status']}"),
        (facts["questions"] == 0, f"{facts['questions']} questions were asked"),
        (facts["left"] == 0, f"{facts['left']} processes were left"),
    )


def _refused_port(facts: Facts) -> list[str]:
    return _ended_alone(facts) + _unless(
        (facts["category"] == "transient", f"the failure was taken for {facts['category']}"),
        (facts["attempts"] >= 2, "it did not fail at all"),
        (facts["charged"] == 0, "waiting for the port was charged"),
    )


def _rate_limit(facts: Facts) -> list[str]:
    return _ended_alone(facts) + _unless(
        (facts["waited_s"] >= facts["named_s"], f"tried again after {facts['waited_s']} s, {facts['named_s']} s named"),
        (facts["attempts"] == 2, f"{facts['attempts']} attempts for one limit"),
        (facts["charged"] == 0, "the limit was charged"),
    )


def _full_disk(facts: Facts) -> list[str]:
    return _unless(
        (facts["refused_code"] != 0, "a task was accepted that could not be stored"),
        (not facts["traceback"], "it printed a traceback instead of a sentence"),
        (facts["lost"] == 0, f"{facts['lost']} tasks were lost"),
        (facts["status"] == "completed", f"what ran meanwhile is {facts['status']}"),
        (facts["runs"] == 1, f"what ran meanwhile ran {facts['runs']} times"),
        (facts["after"] == "completed", f"what was added afterwards is {facts['after']}"),
        (facts["left"] == 0, f"{facts['left']} processes were left"),
    )


def _hang(facts: Facts) -> list[str]:
    return _ended_alone(facts) + _unless(
        (facts["outcome"] == "timed_out", f"the first attempt ended as {facts['outcome']}"),
        (facts["took_s"] <= facts["limit_s"] + facts["grace_s"], f"it was ended after {facts['took_s']} s"),
    )


def _memory_limit(facts: Facts) -> list[str]:
    return _ended_alone(facts) + _unless(
        (facts["category"] == "resource_exhaustion", f"the failure was taken for {facts['category']}"),
        (facts["attempts"] == 2, f"{facts['attempts']} attempts"),
    )


def _outage(facts: Facts) -> list[str]:
    return _unless(
        (facts["completed"] == facts["tasks"], f"{facts['completed']} of {facts['tasks']} completed"),
        (facts["incidents"] == 1, f"{facts['incidents']} incidents for one cause"),
        (
            facts["attempts_while_down"] <= facts["tasks"] + facts["canaries_allowed"],
            f"{facts['attempts_while_down']} attempts of {facts['tasks']} tasks while it was down",
        ),
        (facts["questions"] <= 1, f"{facts['questions']} questions for one cause"),
        (facts["charged"] == 0, f"{facts['charged']} attempts were charged for the outage"),
        (facts["left"] == 0, f"{facts['left']} processes were left"),
    )


def _kill(facts: Facts) -> list[str]:
    return _unless(
        (facts["outlived_s"] <= facts["lease_s"], f"its process lived for {facts['outlived_s']} s without an engine"),
        (facts["first"] == "lost", f"the attempt that was cut off is {facts['first']}"),
        (facts["status"] == "completed", f"the task is {facts['status']}"),
        (facts["together"] <= 1, f"{facts['together']} processes of it ran together"),
        (facts["attempts"] == 2, f"{facts['attempts']} attempts"),
        (facts["left"] == 0, f"{facts['left']} processes were left"),
    )


def _clock_jump(facts: Facts) -> list[str]:
    return _unless(
        (facts["jumps"] > 0, "the clock did not jump"),
        (facts["broken_promise"] == "", f"a promise broke: {facts['broken_promise']}"),
        (facts["tasks"] > 0, "there was nothing to do meanwhile"),
    )


def _killer(facts: Facts) -> list[str]:
    return _unless(
        (facts["block_kind"] == "human", f"the task that kills is {facts['status']}, and nobody was asked"),
        (facts["questions"] == 1, f"{facts['questions']} questions were asked"),
        (facts["deaths"] == facts["budget"], f"{facts['deaths']} engines died, {facts['budget']} may"),
        (facts["bystander"] == "completed", f"the task beside it is {facts['bystander']}"),
        (facts["left"] == 0, f"{facts['left']} processes were left"),
    )


def _agent(facts: Facts) -> list[str]:
    return _unless(
        (facts["completed"] == facts["tasks"], f"{facts['completed']} of {facts['tasks']} completed"),
        (not facts["believed"], f"taken for a success: {', '.join(facts['believed'])}"),
        (facts["first"]["hang"] == "stalled", f"the one that hung ended as {facts['first']['hang']}"),
        (not facts["limit_charged"], "the limit was charged"),
        (facts["tokens"] > 0, "nothing of what it used was counted"),
        (facts["questions"] == 0, f"{facts['questions']} questions were asked"),
        (facts["left"] == 0, f"{facts['left']} processes were left"),
    )


def _two_daemons(facts: Facts) -> list[str]:
    return _unless(
        (facts["completed"] == facts["tasks"], f"{facts['completed']} of {facts['tasks']} completed"),
        (facts["runs"] == facts["tasks"], f"{facts['tasks']} tasks ran {facts['runs']} times"),
        (facts["daemons"] == 2, f"{facts['daemons']} daemons took part"),
        (facts["exit_codes"] == [0, 0], f"they ended with {facts['exit_codes']}"),
        (facts["left"] == 0, f"{facts['left']} processes were left"),
    )


def _nothing_left(facts: Facts) -> list[str]:
    return _unless(
        (facts["processes"] == 0, f"{facts['processes']} processes of the drill are there"),
        (facts["files"] == 0, f"{facts['files']} files of the drill are there"),
    )


PROMISES: Final = (
    Promise(
        "refused port",
        "waits until the port is there, charges nothing, asks nobody",
        "{category}/{subcategory}, then {status} at attempt {attempts}; {charged} charged, {questions} questions",
        _refused_port,
    ),
    Promise(
        "rate limit",
        "is not tried again before the time that the limit names, and is not charged",
        "limit of {named_s} s, tried again after {waited_s} s, {status}; {charged} charged",
        _rate_limit,
    ),
    Promise(
        "full disk",
        "refuses what it cannot store, loses nothing, goes on when there is room",
        "{how}: add refused with {refused_code}, the task that ran is {status} after {runs} run, the next {after}",
        _full_disk,
    ),
    Promise(
        "hang",
        "is ended at its time limit, with everything it started",
        "{outcome} after {took_s} s of {limit_s} s, {left} processes left, then {status}",
        _hang,
    ),
    Promise(
        "memory limit",
        "is ended before it takes the machine down, and named",
        "{category}/{subcategory}, then {status} at attempt {attempts}",
        _memory_limit,
    ),
    Promise(
        "outage",
        "many tasks that need one service fail once, wait together and go on together",
        "{attempts_while_down} attempts of {tasks} tasks while it was down, {incidents} incident, {completed} ended",
        _outage,
    ),
    Promise(
        "kill -9",
        "a killed daemon loses nothing: its processes end, the next daemon runs the task again",
        "its process ended {outlived_s} s later, attempt 1 {first}, then {status} at attempt {attempts}",
        _kill,
    ),
    Promise(
        "clock jump",
        "a clock that jumps starts nothing twice and loses nothing (virtual time)",
        "{jumps} jumps in {hours} virtual hours with {tasks} tasks, of which none is lost",
        _clock_jump,
    ),
    Promise(
        "killer",
        "a task that kills its engine becomes a question instead of a loop",
        "{deaths} engines died of it, then {status} · {block_kind}; the task beside it {bystander}",
        _killer,
    ),
    Promise(
        "agent",
        "an agent that hits a limit, hangs, crashes or lies about its end is not believed and is tried again",
        "{completed} of {tasks} ended well at last, {tokens} tokens counted, at first {firsts}",
        _agent,
    ),
    Promise(
        "two daemons",
        "share the work of one store, and nothing runs twice",
        "{tasks} tasks, {runs} runs, {daemons} daemons, {completed} completed",
        _two_daemons,
    ),
)
NOTHING_LEFT: Final = Promise(
    "afterwards",
    "the drill leaves nothing behind",
    "{processes} processes, {files} files",
    _nothing_left,
)

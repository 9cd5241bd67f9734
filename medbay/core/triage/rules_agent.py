"""The agent that is always there: it judges by the diagnosis, what is known of the failure, and what was tried.

It sees exactly what any other agent is shown, and answers as any other would: with a verdict as plain data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from medbay.core.attempt.guidance import ADVICE_MAX, DIFFERENT_APPROACH
from medbay.core.untrusted import line

SPEC_KINDS: Final = frozenset({"code_error", "test_failure"})
LOOKED_AT: Final = 3  # how many of the newest failures have to agree
LONGER: Final = 2  # times the time limit
EVIDENCE_LINES: Final = 3
TRIED_SHOWN: Final = 3
RESOURCES_DELAY: Final = "1h"  # the ladder's third wait: until what is used up may be free again
SURE: Final = 0.9
ADVICE_VARIABLE: Final = "MEDBAY_GUIDANCE"

_View = Mapping[str, Any]


def judge(context: Mapping[str, Any]) -> dict[str, Any]:
    """The verdict on what is shown; the first rule that has something to say decides."""
    failures = list(context.get("failures") or ())
    found: dict[str, Any] = (failures[-1].get("diagnosis") if failures else None) or {}
    verdict = next(said for rule in _RULES if (said := rule(context, found, failures)) is not None)
    summary = found.get("summary") or "nothing is known of why it failed"
    return {
        "task": context["task"]["id"],
        "attempt": context["task"]["attempt"],
        "root_cause": line(summary, ADVICE_MAX),
        "evidence": _evidence(found, failures),
        "confidence": round(_confidence(found, failures), 2),
    } | verdict


def _shared(context: _View, found: _View, failures: Sequence[_View]) -> dict[str, Any] | None:
    """Many tasks meet the same: what passes is left to the canaries, anything else a person has to change."""
    if not context.get("incident"):
        return None
    if found.get("category") == "transient":
        return {"verdict": "NOOP", "why": "this passes by itself, and one task is sent ahead from time to time"}
    fix = found.get("suggested_fix") or ""
    why = f"every task that needs it fails: {found.get('summary') or context['incident']['why']}"
    if fix:
        return {"verdict": "RECOMMEND_CONFIG", "why": why, "suggestion": fix}
    return {"verdict": "ESCALATE", "why": why, "look_at": "what these tasks have in common"}


def _hopeless(context: _View, found: _View, failures: Sequence[_View]) -> dict[str, Any] | None:
    """Trying again cannot help, and every failure says so."""
    if found.get("retryable", True) or not _same_every_time(failures):
        return None
    why = f"trying again cannot help: {found.get('summary')}"
    return {"verdict": "ESCALATE", "why": why, "look_at": found.get("suggested_fix") or ""}


def _passing(context: _View, found: _View, failures: Sequence[_View]) -> dict[str, Any] | None:
    """A recurring task runs again anyway; what passes by itself, or is another thing every time, needs no change."""
    if not context["task"]["recurs"]:
        return None
    if found.get("category") == "transient":
        return {"verdict": "NOOP", "why": "this kind of failure passes by itself, and the backoff goes on"}
    if not _same_every_time(failures):
        return {"verdict": "NOOP", "why": "it fails in different ways: there is no one thing to change"}
    return None


def _too_slow(context: _View, found: _View, failures: Sequence[_View]) -> dict[str, Any] | None:
    """What ran out of its time gets more, as much as a verdict may give."""
    limit = context["task"]["timeout_s"]
    if found.get("category") != "timeout" or limit is None or not _may(context, "ADJUST"):
        return None
    least, most = context["verdicts"]["ADJUST"]["limits"]["timeout_s"]
    longer = min(max(limit * LONGER, least), most)
    if longer <= limit:
        return None
    why = f"it ran out of its time of {limit:g}s in {_alike(failures)} of {len(failures)} failures"
    return {"verdict": "ADJUST", "why": why, "adjust": {"timeout": longer, "guidance": _advice(context, found)}}


def _unclear(context: _View, found: _View, failures: Sequence[_View]) -> dict[str, Any] | None:
    """Code that keeps failing against a specification: perhaps it does not say what is wanted."""
    task = context["task"]
    wanted = found.get("category") in SPEC_KINDS and task["spec"] and _may(context, "SPEC_REFRESH")
    if not wanted or "SPEC_REFRESH" in _verdicts_on(context, found):
        return None
    unclear = f"{task['consecutive_failures']} attempts ended with the same kind of failure{_place(found)}"
    unclear += f": {found.get('summary')}. Does the specification say what is expected there?"
    return {"verdict": "SPEC_REFRESH", "unclear": unclear}


def _another_way(context: _View, found: _View, failures: Sequence[_View]) -> dict[str, Any] | None:
    """Otherwise: a completely different approach, with what helped elsewhere and what did not help here.

    What cannot take advice is adjusted only where something else changes: how long it waits.
    """
    advice = _advice(context, found)
    waits = found.get("category") == "resource_exhaustion"
    if not _may(context, "ADJUST") or advice in _told(context) or not (waits or _takes_advice(context["task"])):
        return None
    adjust: dict[str, Any] = {"guidance": advice}
    if "fresh_session" in context["verdicts"]["ADJUST"]["limits"]:
        adjust["fresh_session"] = True
    if waits:
        adjust["retry_delay"] = RESOURCES_DELAY
    why = f"{context['task']['consecutive_failures']} failures in a row: the same way again would not help"
    return {"verdict": "ADJUST", "why": why, "adjust": adjust}


def _takes_advice(task: _View) -> bool:
    """Whether the next attempt could do something else: an agent, a function, a script, or what mentions advice."""
    if task.get("takes_advice") is not None:
        return bool(task["takes_advice"])
    command = str(task.get("command") or "")
    return task.get("runner") != "shell" or ADVICE_VARIABLE in command or "/" in command.split(" ", 1)[0]


def _nothing_left(context: _View, found: _View, failures: Sequence[_View]) -> dict[str, Any] | None:
    """A person; but the schedule of a recurring task goes on, and asks by itself when nothing but failures come."""
    failure = f" against: {found['summary']}" if found.get("summary") else ""
    if context["task"].get("recurs") and _may(context, "NOOP"):
        return {"verdict": "NOOP", "why": f"everything that is known to help was tried{failure}; its schedule goes on"}
    return {
        "verdict": "ESCALATE",
        "why": f"everything that is known to help was tried{failure}",
        "look_at": found.get("suggested_fix") or "the output of the last attempts",
    }


_Rule = Callable[[_View, _View, Sequence[_View]], dict[str, Any] | None]
_RULES: Final[tuple[_Rule, ...]] = (_shared, _hopeless, _passing, _too_slow, _unclear, _another_way, _nothing_left)


def _may(context: _View, word: str) -> bool:
    return word in context["verdicts"]


def _newest(failures: Sequence[_View]) -> list[str]:
    """The fingerprints of the newest failures."""
    return [str((each.get("diagnosis") or {}).get("fingerprint", "")) for each in failures[-LOOKED_AT:]]


def _same_every_time(failures: Sequence[_View]) -> bool:
    return len(set(_newest(failures))) == 1


def _alike(failures: Sequence[_View]) -> int:
    """How many failed as the newest one did."""
    kinds = [(each.get("diagnosis") or {}).get("category") for each in failures]
    return kinds.count(kinds[-1])


def _verdicts_on(context: _View, found: _View) -> set[str]:
    """What was said before about the same failure."""
    earlier = context.get("earlier_triages") or ()
    return {each["verdict"] for each in earlier if each["fingerprint"] == found.get("fingerprint")}


def _told(context: _View) -> list[str]:
    return [each["advice"] for each in context.get("guidance") or () if each["advice"]]


def _advice(context: _View, found: _View) -> str:
    """One line: another approach, the advice with the best record that was not told yet, and what did not help."""
    told = _told(context)
    known = (context.get("known") or {}).get("advice") or ()
    untried = [each for each in known if each["cured"] > 0 and each["text"] not in told]
    helped = f" What helped against this before: {_recorded(untried[0])}" if untried else ""
    own = found.get("suggested_fix") or ""
    first = f" Look first at this: {own}" if own and not helped and own not in told else ""
    tried = "; ".join(dict.fromkeys(line(each, 80) for each in told if not each.startswith(DIFFERENT_APPROACH)))
    failed = f" Did not help: {tried}" if tried else ""
    return line(DIFFERENT_APPROACH + helped + first + failed, ADVICE_MAX)


def _recorded(advice: _View) -> str:
    return f"{advice['text']} (worked {advice['cured']} of {advice['given']} times)"


def _place(found: _View) -> str:
    place = found.get("location")
    if not place:
        return ""
    return f" at {place['file']}" + (f":{place['line']}" if place["line"] is not None else "")


def _evidence(found: _View, failures: Sequence[_View]) -> list[str]:
    """The words the diagnosis rests on; where there are none, the last lines of the output."""
    quoted = str(found.get("excerpt") or "")
    if not quoted.strip() and failures:
        quoted = "\n".join(str(failures[-1].get("tail") or "").strip().split("\n")[-EVIDENCE_LINES:])
    return [each.strip() for each in quoted.split("\n") if each.strip()][:EVIDENCE_LINES]


def _confidence(found: _View, failures: Sequence[_View]) -> float:
    """As sure as the diagnosis, less where the failures do not agree."""
    sure = min(SURE, float(found.get("confidence") or 0.0))
    return sure * (_alike(failures) / len(failures)) if failures else 0.0

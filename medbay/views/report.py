"""The morning report: what to do first, what healed, what it cost, what got worse, what comes next.

Nothing healthy is listed by name. The page is one file without anything from outside; every text in it is escaped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

from medbay.core.budget import MILLION
from medbay.core.model import Question
from medbay.core.workflow.records import StoryDecision
from medbay.views import moments
from medbay.views import question as question_views
from medbay.views.text import clean, cut, wrap

_FIRST: Final = 10  # questions that are named
_NAMED: Final = 5
_PLANNED: Final = 3  # recurring tasks that come next
_OFTEN: Final = 3  # from how many on a new failure is worth a line
_BAR: Final = 24  # columns
_LEAST: Final = 24  # columns of what is needed; with less room the command comes below
_GAP: Final = "      "


def as_json(
    summary: dict[str, Any],
    *,
    first: Sequence[tuple[Question, Mapping[str, str], int]],
    most: tuple[str, int] | None,
    pending: int,
    next_retry: tuple[str, str, int] | None,
    planned: Sequence[tuple[str, str, int]],
    unserved: Sequence[str],
    decided: Sequence[StoryDecision] = (),
) -> dict[str, Any]:
    """Return the report as data, with every figure of `stats`."""
    tokens, cost = (sum(each[name] for each in summary["cost"]) for name in ("tokens", "cost"))
    return {
        **summary,
        "do_first": [_first(*each) for each in first],
        "spent": {
            "cost": round(cost, 6),
            "tokens": tokens,
            "failed": summary["failed_cost"],
            "most": {"task": most[0], "cost": most[1] / MILLION} if most else None,
        },
        "worse": [
            {name: each[name] for name in ("fingerprint", "summary", "n", "tasks", "new", "back_after_days")}
            for each in summary["fingerprints"]
            if each["back_after_days"] is not None or (each["new"] and each["n"] >= _OFTEN)
        ],
        "decided": [
            {"story": each.story_id, "phase": each.phase, "question": each.question}
            | {"answer": each.answer, "by": each.answered_by, "at": moments.iso(each.at)}
            for each in decided
        ],
        "next": {
            "retries": pending,
            "first": {"task": next_retry[0], "title": next_retry[1], "due_at": moments.iso(next_retry[2])}
            if next_retry
            else None,
            "planned": [{"task": task, "title": title, "due_at": moments.iso(at)} for task, title, at in planned],
            "unserved": list(unserved),
        },
    }


def _first(asked: Question, titles: Mapping[str, str], behind: int) -> dict[str, Any]:
    name = question_views.name(asked)
    title = titles.get(name, "")
    return {
        "name": name,
        "title": title or None,
        "need": asked.need.removeprefix(f"{title}: ") if title else asked.need,
        "command": f"medbay answer {name} {question_views.answer_words(asked)}",
        "behind": behind,
        "asked_at": moments.iso(asked.asked_at),
    }


def headline(found: Mapping[str, Any]) -> str:
    """Return what became of all tasks, in one line."""
    alone = found["completed"] - found["by_person"]
    return (
        f"{alone} done without anyone ({found['healed']} healed), {found['waiting']} waiting, "
        f"{found['need_person']} need you, {found['cancelled']} cancelled"
    )


def subject(found: Mapping[str, Any]) -> str:
    """Return the first line of the report as a message: `Medbay: 128 done (56 healed), 3 need you, $4.10.`"""
    done, needs, cost = found["completed"], found["need_person"], found["spent"]["cost"]
    said = [f"{done} done ({found['healed']} healed)", f"{needs} need{'s' if needs == 1 else ''} you"]
    return f"Medbay: {', '.join(said + ([f'${cost:.2f}'] if cost else []))}."


def lines(found: Mapping[str, Any], *, since: int, now: int, width: int | None = None) -> list[str]:
    """Return the report for a terminal of a width; without one, nothing is cut or broken."""
    made = _joined([_span(since, now), headline(found)], width)
    for number, each in enumerate(found["do_first"][:_FIRST], start=1):
        head, rest = f"{'DO FIRST' if number == 1 else '':<11}{number} {each['name']} ", [each["command"]]
        what = clean(f"{each['title'] or ''}  {each['need']}".strip())
        rest += [_behind(each["behind"])] if each["behind"] else []
        room = (width - len(head) - sum(len(word) + len(_GAP) for word in rest)) if width is not None else None
        if room is None or room >= min(_LEAST, len(what)):
            made.append(_GAP.join([head + (what if room is None else cut(what, room)), *rest]))
        else:
            made += [head + cut(what, (width or 0) - len(head)), " " * 13 + _GAP.join(rest)]
    if (more := len(found["do_first"]) - _FIRST) > 0:
        made.append(f"{'':<11}and {more} more{_GAP}medbay inbox")
    sections = (("HEALED", healed_words(found)), ("COST", cost_words(found)), ("WORSE", worse_words(found)))
    for name, words in (*sections, ("DECIDED", decided_words(found)), ("NEXT", next_words(found, now))):
        if words:
            first, *others = wrap(words, width - 11) if width is not None else [words]
            made += [f"{name:<11}{first}", *(" " * 11 + each for each in others)]
    return made


def _span(since: int, now: int) -> str:
    return f"{moments.local(since):%d %b %H:%M} to {moments.local(now):%d %b %H:%M} {moments.zone(now)}"


def _behind(count: int) -> str:
    return f"{count} wait{'s' if count == 1 else ''} for it"


def _joined(words: Sequence[str], width: int | None) -> list[str]:
    """In one line where they fit, else each in lines of its own."""
    line = _GAP.join(words)
    if width is None or len(line) <= width:
        return [line]
    return [part for each in words for part in wrap(each, width)]


def healed_words(found: Mapping[str, Any]) -> str:
    """Return which failures healed: `37 transient/rate_limit · 12 timeout`."""
    return " · ".join(f"{number} {clean(name)}" for name, number in [*found["healed_by_category"].items()][:_NAMED])


def cost_words(found: Mapping[str, Any]) -> str:
    """Return what it cost; nothing where nothing was used."""
    spent = found["spent"]
    if not spent["cost"] and not spent["tokens"]:
        return ""
    most = f"; most: {clean(str(spent['most']['task']))} ${spent['most']['cost']:.2f}" if spent["most"] else ""
    failed = f"; ${spent['failed']:.2f} on failed attempts" if spent["failed"] else ""
    return f"${spent['cost']:.2f}, {spent['tokens']:,} tokens{failed}{most}"


def worse_words(found: Mapping[str, Any]) -> str:
    """Return which failures are new or back."""
    return " · ".join(_worse(each) for each in found["worse"][:_NAMED])


def _worse(each: Mapping[str, Any]) -> str:
    tasks = f" ({each['tasks']} task{'s' if each['tasks'] != 1 else ''})" if each["tasks"] else ""
    if each["back_after_days"] is not None:
        return f"{clean(each['fingerprint'])} is back after {each['back_after_days']} days{tasks}"
    return f"{clean(each['fingerprint'])} is new, {each['n']} times{tasks}"


def decided_words(found: Mapping[str, Any]) -> str:
    """Return what stories asked that was small enough to be decided without anyone, and how."""
    made = found["decided"]
    said = [f"{clean(each['story'])} {clean(each['question'])} {clean(each['answer'])} ({each['by']})" for each in made]
    return " · ".join(said[:_NAMED] + ([f"and {len(said) - _NAMED} more"] if len(said) > _NAMED else []))


def next_words(found: Mapping[str, Any], now: int) -> str:
    """Return what happens by itself, in local time."""
    retries, first, planned = found["next"]["retries"], found["next"]["first"], found["next"]["planned"]
    unserved = found["next"]["unserved"]
    words = [f'no worker serves "{clean(queue)}", where work is ready: medbay up' for queue in unserved]
    if retries and first:
        at = moments.clock(moments.of_iso(first["due_at"]), now, seconds=False)
        words.append(f"{retries} retr{'ies' if retries != 1 else 'y'}, the first {at}: {clean(first['title'])}")
    for each in planned[:_PLANNED]:
        words.append(f"{clean(each['title'])} {moments.clock(moments.of_iso(each['due_at']), now, seconds=False)}")
    return " · ".join(words) or "nothing is planned"


def bars(counts: Iterable[tuple[str, int]]) -> list[tuple[str, str, int]]:
    """Return each name with a bar as long as its number is large."""
    found = list(counts)
    largest = max((number for _, number in found), default=0)
    return [(name, "█" * round(_BAR * number / max(1, largest)) or "▏", number) for name, number in found]


def counted(series: Iterable[Mapping[str, Any]], *, by_day: bool = False) -> list[tuple[str, int]]:
    """Return a series summed by name, most first; or by day."""
    sums = Counter[str]()
    for each in series:
        sums[each["hour"][:10] if by_day else each["name"]] += each["n"]
    return sorted(sums.items()) if by_day else sums.most_common()


def page(found: Mapping[str, Any], *, since: int, now: int) -> str:
    """Return the report as one HTML file that opens without a network, light and dark."""
    title = f"Medbay, {_span(since, now)}"
    first = "".join(
        f"<li><b>{_e(each['name'])}</b> {_e(each['title'] or '')} {_e(each['need'])}"
        f" <code>{_e(each['command'])}</code></li>"
        for each in found["do_first"]
    )
    rows = (
        ("Healed", healed_words(found)),
        ("Cost", cost_words(found)),
        ("Worse", worse_words(found)),
        ("Decided", decided_words(found)),
        ("Next", next_words(found, now)),
    )
    facts = "".join(f"<dt>{name}</dt><dd>{_e(words)}</dd>" for name, words in rows if words)
    plots = _plot("Failures by category", counted(found["failures"]))
    plots += _plot("Failures by day", counted(found["failures"], by_day=True))
    plots += _plot("Healed by category", [*found["healed_by_category"].items()])
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{_e(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>'
        f"<h1>{_e(title)}</h1><p class=lead>{_e(headline(found))}</p>"
        + (f"<h2>Do first</h2><ol>{first}</ol>" if first else "<p>Nothing needs you.</p>")
        + f"<dl>{facts}</dl>{plots}</html>\n"
    )


def _plot(title: str, counts: Sequence[tuple[str, int]]) -> str:
    """One bar chart as inline SVG; its numbers stand beside the bars."""
    if not counts:
        return ""
    largest, shown = max(number for _, number in counts), counts[:20]
    bars_made = "".join(
        f'<text x="0" y="{at * 24 + 16}">{_e(cut(clean(name), 30))}</text>'
        f'<rect x="240" y="{at * 24 + 4}" width="{max(2, round(300 * number / largest))}" height="16"/>'
        f'<text x="{250 + max(2, round(300 * number / largest))}" y="{at * 24 + 16}">{number}</text>'
        for at, (name, number) in enumerate(shown)
    )
    return f'<h2>{_e(title)}</h2><svg viewBox="0 0 640 {24 * len(shown)}" role="img">{bars_made}</svg>'


def _e(text: str) -> str:
    return escape(clean(text))


_STYLE: Final = (
    ":root{color-scheme:light dark;--ink:#1a2129;--ground:#fff;--bar:#1457b8}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6e9ed;--ground:#11161c;--bar:#2f80e8}}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:var(--ink);background:var(--ground)}.lead{font-size:1.25rem}h1{font-size:1.3rem}h2{font-size:1.1rem}"
    "dt{font-weight:600}dd{margin:0 0 .5rem}code{white-space:nowrap}svg{width:100%}"
    "svg text{fill:var(--ink);font-size:13px}svg rect{fill:var(--bar)}"
)

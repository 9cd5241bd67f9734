"""`medbay show`: everything about one task: where it stands, its attempts, what the next one is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from medbay.cli import check_lines, evaluation_lines, glyphs, recurring_lines, times, triage_lines, work_lines
from medbay.cli.completing import task_ids
from medbay.cli.glyphs import status_phrase
from medbay.cli.listing import waits_for
from medbay.cli.output import BOLD, DIM, Screen, fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.cli.table import Cell, Column, render
from medbay.cli.text import clean, cut, width, wrap
from medbay.core.durations import format_duration

if TYPE_CHECKING:
    from medbay.core.model import Attempt, CheckResult, Task

_ON_ONE_LINE = 90  # below, the reason of an attempt stands on a line of its own
_BY_CAPACITY = 13  # the first of what only capacity ends
_LISTED = ("status", "block_kind", "reason", "paused", "held_by", "next_attempt_at", "priority", "queue", "cwd")


@click.command()
@click.argument("task_id", metavar="ID", shell_complete=task_ids)
@json_option
@pass_session
def command(session: Session, task_id: str) -> None:
    """Show everything about one task.

    \b
    Example:
      medbay show m2xa
    """
    bay = session.bay()
    detail = bay.show(task_id)
    if session.json:
        print_json(detail)
        return
    task = bay.get(detail["id"])
    attempts = bay.attempts(task.id)
    checks = bay.checks(task.id, since=attempts[0].number) if attempts else {}
    shown, now = screen(), _now()
    if not shown.terminal:
        _for_programs(task, attempts, detail, work_lines.work(task, bay.place.config, detail["subject"]))
        for each in attempts:
            check_lines.tell_programs(checks.get(each.number, ()), now)
            evaluation_lines.tell_programs(each, checks.get(each.number, ()), detail["rescue_threshold"], now)
        return
    waiting = waits_for(bay, [task]).get(task.id, ())
    told = _attempts(attempts, checks, detail["rescue_threshold"], now, shown)
    again = _recurring(task, detail, now, shown)
    runs = shown.paint(
        f"  {cut(clean(work_lines.runs(task, bay.place.config, detail['subject'])), shown.width - 2)}", DIM
    )
    for line in (*_head(task, waiting, now, shown), runs, *again, *told, *_rest(task, detail, shown)):
        say(line)
    note(next_command(task, detail))


def next_command(task: Task, detail: dict[str, Any]) -> str:
    """What a person would type next."""
    if detail["question"]:
        return f"next: medbay explain {task.id}, then medbay answer {task.id}"
    if task.role == "triage":
        return f"more: medbay log {task.id}, medbay show {detail['subject']}"
    if task.attempts:
        return f"more: medbay log {task.id}, medbay explain {task.id}"
    return f"more: medbay explain {task.id}"


def _now() -> int:
    from medbay.env import SystemClock

    return SystemClock().now_ms()


def _head(task: Task, waiting: Sequence[str], now: int, shown: Screen) -> list[str]:
    phrase = status_phrase(task, now, after=waiting)
    exact = ""
    if phrase.token == "wait" and task.due_at is not None:
        exact = f" ({times.clock(task.due_at, now)} {times.zone(task.due_at)})"
    elif phrase.token in ("you", "held", "done"):
        exact = f" (since {times.clock(task.since, now)} {times.zone(task.since)})"
    words = shown.paint(shown.plain(f"{phrase.glyph} {clean(phrase.words)}{exact}"), phrase.colour)
    title = cut(clean(task.title), shown.width - len(task.id) - 2)
    facts = [f"tag {clean(tag)}" for tag in task.tags]
    facts.append(f"streak {task.streak}, {task.charged} charged" if task.streak else "")
    facts.append(f"priority {task.priority}" if task.priority != 2 else "")
    facts.append(f"queue {clean(task.queue)}" if task.queue != "default" else "")
    facts.append(f"time limit {times.short(task.timeout_ms)}" if task.timeout_ms else "")
    told = "   ".join(fact for fact in facts if fact)
    lines = [f"{shown.paint(task.id, BOLD)}  {title}"]
    if width(f"  {phrase.glyph} {phrase.words}{exact}   {told}") <= shown.width:
        lines.append(f"  {words}   {told}".rstrip())
    else:
        lines += [f"  {words}", f"  {cut(told, shown.width - 2)}"]
    if task.status == "blocked" and task.reason:
        lines.append(f"  why: {cut(clean(task.reason), shown.width - 7)}")
    return lines


def _recurring(task: Task, detail: dict[str, Any], now: int, shown: Screen) -> list[str]:
    """How it recurs, and where it stands in its backoff."""
    if not task.recurs:
        return []
    standing = recurring_lines.standing(task, detail["backoff"], now, lambda at: times.clock(at, now))
    told = [f"{recurring_lines.how(task)}   {recurring_lines.progress(task)}", standing]
    return [shown.plain(cut(f"  {clean(line)}", shown.width)) for line in told if line]


def _attempts(
    attempts: list[Attempt], checks: Mapping[int, Sequence[CheckResult]], threshold: float, now: int, shown: Screen
) -> list[str]:
    """A line per attempt, below it the checks of its result, or what evaluated it."""
    lines = _attempt_lines(attempts, now, shown)
    for told, each in zip(lines, attempts, strict=True):
        looked = checks.get(each.number, ())
        told += check_lines.check_lines(looked, now, shown)
        told += evaluation_lines.lines(each, looked, threshold, now, shown)
    return [line for told in lines for line in told]


def _attempt_lines(attempts: list[Attempt], now: int, shown: Screen) -> list[list[str]]:
    rows: list[list[Cell]] = []
    reasons: list[str] = []
    for each in attempts:
        glyph, token = glyphs.outcome_glyph(each.outcome)
        found = each.diagnosis
        lasted = format_duration((each.ended_at if each.ended_at is not None else now) - each.started_at)
        why = clean(found.summary) if found else ""
        free = found is not None and not each.charged
        rows.append(
            [
                Cell(f"#{each.number}"),
                Cell(glyph, glyphs.COLOURS[token]),
                Cell(times.clock(each.started_at, now)),
                Cell(lasted),
                Cell(how_it_ended(each)),
                Cell(found.kind if found else ""),
                Cell(f"{found.confidence:.2f}" if found else ""),
            ]
        )
        reasons.append(why + (" (charges no attempt)" if free else ""))
    kept = Column()
    columns = [Column(gap=1), Column(gap=1), kept, kept, kept, Column(cut=True, least=9), kept]
    if shown.width >= _ON_ONE_LINE:
        rows = [[*row, Cell(why)] for row, why in zip(rows, reasons, strict=True)]
        return [[line] for line in render(rows, [*columns, Column(cut=True, least=10)], shown, indent=2)]
    lines = render(rows, columns, shown, indent=2)
    below = [shown.plain(cut(f"     {why}", shown.width)) if why else "" for why in reasons]
    return [[line for line in pair if line] for pair in zip(lines, below, strict=True)]


def how_it_ended(each: Attempt) -> str:
    """`exit 1`, `time limit`, `signal 9`, `running`."""
    match each.outcome:
        case None:
            return "running"
        case "timed_out":
            return "time limit"
        case "failed" if each.signal is not None:
            return f"signal {each.signal}"
        case "failed" if each.exit_code is not None:
            return f"exit {each.exit_code}"
        case word:
            return word


def _rest(task: Task, detail: dict[str, Any], shown: Screen) -> list[str]:
    lines = [part for line in _judged(task, detail) if line for part in _wrapped(clean(line), shown)]
    if task.guidance and not task.finished:
        newest = detail["guidance"][-1]
        record = told_record(newest["record"])
        told = cut(f"  guidance for #{newest['attempt']}: {clean(newest['advice'])}", shown.width - len(record))
        lines.append(told + record)
    if waits := _waits(detail):
        lines.append(cut(f"  waits: {clean(waits)}", shown.width))
    if learned := _learned(detail):
        lines.append(cut(f"  delay learned: {clean(learned)}", shown.width))
    if detail["after"]:
        lines.append(cut(f"  comes after {', '.join(detail['after'])}", shown.width))
    if detail["question"]:
        lines += _wrapped(f"asked: {clean(detail['question']['need'])}", shown)
    lines += [cut(f"  {name}: {clean(told)}", shown.width) for name, told in work_lines.came_to(detail, _now())]
    if detail["attempts_total"] > len(detail["attempts"]):
        lines.append(f"  {detail['attempts_total']} attempts in all, the newest are shown")
    return [shown.plain(line) for line in lines]


def _wrapped(told: str, shown: Screen) -> list[str]:
    """What has to be read to its end."""
    first, *rest = wrap(told, shown.width - 4)
    return [f"  {first}", *(f"    {each}" for each in rest)]


def _judged(task: Task, detail: dict[str, Any]) -> tuple[str, str]:
    """Whom it serves, and what triage said of it."""
    return triage_lines.serves(task, detail), triage_lines.last(task, detail, _now())


def _waits(detail: dict[str, Any]) -> str:
    """What a ready task waits for that its status does not say: a worker, its share of the slots, a slot."""
    first = detail["held_back"]
    return first["what"] if first is not None and first["number"] >= _BY_CAPACITY else ""


def _learned(detail: dict[str, Any]) -> str:
    """Why the coming retry does not wait as long as the schedule says."""
    return next((each["learned"] for each in detail["retries"] if each["status"] == "pending"), None) or ""


def told_record(record: dict[str, int] | None) -> str:
    """` (cured 6 of 7)`: how an advice has fared so far; nothing where it was never tried."""
    return f" (cured {record['cured']} of {record['given']})" if record else ""


def _tell_judged(task: Task, detail: dict[str, Any]) -> None:
    for name, line in zip(("serves", "triage"), _judged(task, detail), strict=True):
        if line:
            fields(name, line)


def _for_programs(task: Task, attempts: list[Attempt], detail: dict[str, Any], work: str) -> None:
    """One fact per line, then one attempt per line."""
    fields("id", task.id)
    fields("title", task.title)
    for name in _LISTED:
        if detail[name] not in (None, "", False):
            fields(name, detail[name])
    for name in ("tags", "after"):
        if detail[name]:
            fields(name, ",".join(detail[name]))
    fields("run", work)
    fields("consecutive_failures", task.streak)
    if task.recurs:
        fields("recurs", recurring_lines.how(task), recurring_lines.progress(task))
        if standing := recurring_lines.standing(task, detail["backoff"], _now(), times.iso):
            fields("backoff", standing)
    if waits := _waits(detail):
        fields("waits", waits)
    if learned := _learned(detail):
        fields("delay_learned", learned)
    for each in attempts:
        found = each.diagnosis
        ended = (times.iso(each.started_at), times.iso(each.ended_at), each.outcome or "running", how_it_ended(each))
        judged = (found.kind, f"{found.confidence:.2f}", found.summary) if found else ("", "", "")
        fields("attempt", each.number, *ended, *judged)
    _tell_judged(task, detail)
    for name, said in work_lines.came_to(detail, _now()):
        fields(name, said)
    for told in detail["guidance"]:
        fields("guidance", told["attempt"], told["advice"], told_record(told["record"]).strip(" ()"))

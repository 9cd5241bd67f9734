"""`medbay show`: everything about one task: where it stands, its attempts, the advice for the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from medbay.cli.completion import task_ids
from medbay.cli.output import BOLD, COLOURS, DIM, Screen, fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.cli.story import print_story
from medbay.cli.table import Cell, Column, render
from medbay.core import durations
from medbay.errors import NotFound
from medbay.views import attempt as attempts
from medbay.views import glyphs, intake, moments, schedule, triage, work
from medbay.views import task as view
from medbay.views.status import status_phrase
from medbay.views.text import clean, cut, width, wrap

if TYPE_CHECKING:
    from medbay.config.fields import Config
    from medbay.core.model import Attempt, Task
    from medbay.core.snapshot import TaskDetail

_ON_ONE_LINE: Final = 90  # below, the reason of an attempt stands on a line of its own
_KEPT: Final = Column()
_TIGHT: Final = Column(gap=1)
_CUT: Final = Column(cut=True, least=10)


@click.command()
@click.argument("task_id", metavar="ID", shell_complete=task_ids)
@json_option
@pass_session
def command(session: Session, task_id: str) -> None:
    """Show everything about one task, or one story.

    \b
    Example:
      medbay show m2xa
    """
    bay = session.bay()
    try:
        found = bay.detail(task_id)
    except NotFound:
        if not bay.stories.exists(task_id):
            raise
        print_story(session, bay, task_id)
        return
    if session.json:
        print_json(view.detail(found))
        return
    shown, config = screen(), bay.place.config
    if not shown.terminal:
        _for_programs(found, work.work(found, bay.profiles, _triage_agent(config)))
        return
    runs = cut(clean(work.runs(found, bay.profiles, _triage_agent(config))), shown.width - 2)
    about = _wrapped(clean(work.about(found)), shown) if found.task.description else []
    about += [shown.paint(cut(f"  {intake.origin(found.candidate)}", shown.width), DIM)] if found.candidate else []
    lines = (*_head(found, shown), *about, shown.paint(f"  {runs}", DIM), *_recurring(found, shown))
    for line in (*lines, *_attempts(found, shown), *_rest(found, shown)):
        say(line)
    note(view.next_command(found))


def _triage_agent(config: Config) -> str:
    chosen = config.triage
    return " ".join(chosen.command) if chosen.agent == "command" else chosen.agent


def _head(found: TaskDetail, shown: Screen) -> list[str]:
    task, now = found.task, found.now
    phrase = status_phrase(task, now, after=found.waits_for)
    exact = ""
    if phrase.kind == "due" and task.due_at is not None and task.due_at > now:
        exact = f" (in {moments.short(task.due_at - now)})"
    elif phrase.token == "wait" and task.due_at is not None:
        exact = f" ({moments.clock(task.due_at, now)} {moments.zone(task.due_at)})"
    elif phrase.token in ("you", "held", "done"):
        exact = f" (since {moments.clock(task.since, now)} {moments.zone(task.since)})"
    words = shown.paint(shown.plain(f"{phrase.glyph} {clean(phrase.words)}{exact}"), COLOURS[phrase.token])
    facts = "   ".join(view.facts(task))
    lines = [f"{shown.paint(task.id, BOLD)}  {cut(clean(task.title), shown.width - len(task.id) - 2)}"]
    if width(f"  {phrase.glyph} {phrase.words}{exact}   {facts}") <= shown.width:
        lines.append(f"  {words}   {facts}".rstrip())
    else:
        lines += [f"  {words}", f"  {cut(facts, shown.width - 2)}"]
    if task.status == "blocked" and task.reason:
        lines.append(f"  why: {cut(clean(task.reason), shown.width - 7)}")
    return lines


def _recurring(found: TaskDetail, shown: Screen) -> list[str]:
    """How it recurs, and where it stands in its backoff."""
    task = found.task
    if not task.recurs:
        return []
    standing = schedule.standing(task, found.rules, found.now, lambda at: moments.clock(at, found.now))
    said = [f"{schedule.how(task)}   {schedule.progress(task)}", standing]
    return [shown.plain(cut(f"  {clean(line)}", shown.width)) for line in said if line]


def _attempts(found: TaskDetail, shown: Screen) -> list[str]:
    """A line per attempt, below it the checks of its result, and its evaluation."""
    lines = []
    for own, each in zip(_attempt_lines(found, shown), found.attempts, strict=True):
        lines += [*own, *_check_lines(found, each, shown), *_evaluation_lines(found, each, shown)]
    return lines


def _attempt_lines(found: TaskDetail, shown: Screen) -> list[list[str]]:
    rows = [_attempt_row(each, found.now) for each in found.attempts]
    reasons = [clean(attempts.why_and_used(each)) for each in found.attempts]
    columns = [_TIGHT, _TIGHT, _KEPT, _KEPT, _KEPT, Column(cut=True, least=9), _KEPT]
    if shown.width >= _ON_ONE_LINE:
        rows = [[*row, Cell(why)] for row, why in zip(rows, reasons, strict=True)]
        return [[line] for line in render(rows, [*columns, _CUT], shown, indent=2)]
    lines = render(rows, columns, shown, indent=2)
    below = [shown.plain(cut(f"     {why}", shown.width)) if why else "" for why in reasons]
    return [[line for line in pair if line] for pair in zip(lines, below, strict=True)]


def _attempt_row(each: Attempt, now: int) -> list[Cell]:
    glyph, token = glyphs.of_outcome(each.outcome)
    diagnosis = each.diagnosis
    return [
        Cell(f"#{each.number}"),
        Cell(glyph, COLOURS[token]),
        Cell(moments.clock(each.started_at, now)),
        Cell(attempts.lasted(each, now)),
        Cell(attempts.ending(each)),
        Cell(diagnosis.kind if diagnosis else ""),
        Cell(f"{diagnosis.confidence:.2f}" if diagnosis else ""),
    ]


def _check_lines(found: TaskDetail, each: Attempt, shown: Screen) -> list[str]:
    rows = []
    for check in attempts.checks(found.checks.get(each.number, ())):
        glyph, token = attempts.CHECK_LOOKS[check.status]
        rows.append(
            [
                Cell(f"check {check.position}"),
                Cell(glyph, COLOURS[token]),
                Cell(check.status + (" required" if check.required else "")),
                Cell(attempts.check_ending(check)),
                Cell(attempts.check_lasted(check, found.now)),
                Cell(clean(attempts.check_command(check))),
            ]
        )
    return render(rows, [_TIGHT, _TIGHT, _KEPT, _KEPT, _KEPT, _CUT], shown, indent=5)


def _evaluation_lines(found: TaskDetail, each: Attempt, shown: Screen) -> list[str]:
    """`evaluation ✗ 0.40, below the 0.8 that rescues  12ms  half of the rows are missing`."""
    check = attempts.evaluation(found.checks.get(each.number, ()))
    if check is None:
        return []
    glyph, token, words, why = attempts.evaluated(each, check, found.rescue_threshold)
    lasted = attempts.check_lasted(check, found.now)
    row = [Cell("evaluation"), Cell(glyph, COLOURS[token]), Cell(words), Cell(lasted), Cell(clean(why))]
    return render([row], [_TIGHT, _TIGHT, _KEPT, _KEPT, _CUT], shown, indent=5)


def _rest(found: TaskDetail, shown: Screen) -> list[str]:
    task = found.task
    said = (triage.made_for(found), triage.last(found))
    lines = [part for line in said if line for part in _wrapped(clean(line), shown)]
    advice, record = view.advice(found)
    if advice:
        lines.append(cut(f"  {advice}", shown.width - len(record)) + record)
    if waits := view.waits(found):
        lines.append(cut(f"  waits: {clean(waits)}", shown.width))
    if learned := view.learned(found):
        lines.append(cut(f"  delay learned: {clean(learned)}", shown.width))
    if found.after:
        lines.append(cut(f"  comes after {', '.join(found.after)}", shown.width))
    if found.question:
        lines += _wrapped(f"asked: {clean(found.question.need)}", shown)
    lines += [cut(f"  {name}: {clean(words)}", shown.width) for name, words in work.came_to(found)]
    if task.attempts > len(found.attempts):
        lines.append(f"  {task.attempts} attempts in all, the newest are shown")
    return [shown.plain(line) for line in lines]


def _wrapped(sentence: str, shown: Screen) -> list[str]:
    """What has to be read to its end."""
    first, *rest = wrap(sentence, shown.width - 4)
    return [f"  {first}", *(f"    {each}" for each in rest)]


def _for_programs(found: TaskDetail, runs: str) -> None:
    """One fact per line, then one attempt per line, then what was said about them."""
    task = found.task
    _facts_for_programs(found, task, runs)
    for each in found.attempts:
        diagnosis = each.diagnosis
        ended = (moments.iso(each.started_at), moments.iso(each.ended_at), each.outcome or "running")
        judged = (diagnosis.kind, f"{diagnosis.confidence:.2f}", diagnosis.summary) if diagnosis else ("", "", "")
        fields("attempt", each.number, *ended, attempts.ending(each), *judged)
    for name, line in (("serves", triage.made_for(found)), ("triage", triage.last(found)), *work.came_to(found)):
        if line:
            fields(name, line)
    for guidance, record in found.guidance:
        fields("guidance", guidance.attempt, guidance.advice, record.record)
    for each in found.attempts:
        _checks_for_programs(found, each)


def _facts_for_programs(found: TaskDetail, task: Task, runs: str) -> None:
    data = view.summary(task) | {"cwd": task.cwd}
    fields("id", task.id)
    fields("title", task.title)
    for name in view.LISTED:
        if data[name] is not False and data[name] not in (None, ""):  # 0 is a value: the most urgent priority
            fields(name, data[name])
    if task.place:
        fields("place", task.place)
    for name, values in (("tags", task.tags), ("after", found.after)):
        if values:
            fields(name, ",".join(values))
    if found.candidate is not None:
        fields("candidate", found.candidate.id, ",".join(found.candidate.captures))
    fields("run", runs)
    if task.description:
        fields("description", work.about(found))
    fields("consecutive_failures", task.streak)
    if task.recurs:
        fields("recurs", schedule.how(task), schedule.progress(task))
        if standing := schedule.standing(task, found.rules, found.now, durations.iso):
            fields("backoff", standing)
    for name, line in (("waits", view.waits(found)), ("delay_learned", view.learned(found))):
        if line:
            fields(name, line)


def _checks_for_programs(found: TaskDetail, each: Attempt) -> None:
    results = found.checks.get(each.number, ())
    for check in attempts.checks(results):
        how = (attempts.check_ending(check), attempts.check_lasted(check, found.now), attempts.check_command(check))
        fields("check", check.number, check.position, check.status, *how)
    check_of_work = attempts.evaluation(results)
    if check_of_work is not None:
        _, _, words, why = attempts.evaluated(each, check_of_work, found.rescue_threshold)
        fields("evaluation", each.number, words, attempts.check_lasted(check_of_work, found.now), why)

"""How the demo looks: one row per command with the trail of its attempts, in place and at the end."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from medbay.cli.demo.fleet import Patient
from medbay.cli.output import BOLD, COLOURS, DIM, Screen
from medbay.core.durations import format_duration
from medbay.core.model import Attempt, Question, Task
from medbay.views import glyphs
from medbay.views.glyphs import Token
from medbay.views.moments import soon
from medbay.views.question import labels
from medbay.views.status import status_phrase
from medbay.views.text import clean, cut, pad

TITLE_WIDE: Final = 13
AILS_WIDE: Final = 23
TRAIL_WIDE: Final = 9
AILS_FROM: Final = 70  # narrower screens do without what is wrong with each


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoRow:
    """One command of the fleet as it stands now."""

    patient: Patient
    task: Task
    attempts: Sequence[Attempt]


def picture(rows: Sequence[DemoRow], screen: Screen, now: int, width: int, *, answerable: bool = True) -> list[str]:
    """One line per command; what to type only while there is a store to type it for."""
    return [_row(row, screen, now, width, answerable=answerable) for row in rows]


def counted(rows: Sequence[DemoRow], screen: Screen, width: int) -> str:
    """How many are where."""
    running = sum(row.task.status == "in_progress" for row in rows)
    you = sum(row.task.status == "blocked" for row in rows)
    done = [row for row in rows if row.task.status == "completed"]
    waiting = len(rows) - running - you - len(done)
    healed = sum(len(row.attempts) > 1 for row in done)
    parts: tuple[tuple[str, Token], ...] = (
        (f"{glyphs.RUNNING} {running} running", "run"),
        (f"{glyphs.WAITING} {waiting} waiting", "wait"),
        (f"{glyphs.YOU} {you} {'needs' if you == 1 else 'need'} you", "you"),
        (f"{glyphs.DONE} {len(done)} done, {healed} healed", "done"),
    )
    gap = "   " if width >= AILS_FROM else " "
    return gap.join(screen.token(screen.plain(words), token) for words, token in parts)


def live_view(rows: Sequence[DemoRow], recent: Sequence[str], screen: Screen, *, now: int, began_at: int) -> str:
    """The whole screen: rows, counts, and as many of the latest lines as fit."""
    columns, lines = shutil.get_terminal_size((80, 24))
    width = columns - 1
    spent = soon(max(1_000, now - began_at) / 1000)
    head = f"MEDBAY DEMO  {len(rows)} real commands, one real engine, short waits"
    shown = [screen.paint(pad(cut(head, width - 5), width - 5) + f"{spent:>5}", BOLD), ""]
    shown += picture(rows, screen, now, width)
    shown += ["", counted(rows, screen, width), ""]
    room = max(0, lines - len(shown) - 1)
    shown += [screen.paint(cut(screen.plain(each), width), DIM) for each in recent[len(recent) - room :] if room]
    return "\x1b[H" + "".join(f"{each}\x1b[K\r\n" for each in shown[: lines - 1]) + "\x1b[J"


def report(
    rows: Sequence[DemoRow],
    questions: Sequence[Question],
    wrong: Mapping[str, str],
    screen: Screen,
    *,
    now: int,
    spent_ms: int,
    kept: str,
) -> list[str]:
    """The clear picture at the end: what healed, what waits for a person, what to type next."""
    done = [row for row in rows if row.task.status == "completed"]
    answered = sum(any(_asks_a_person(each) for each in row.attempts) for row in done)
    alone = sum(len(row.attempts) > 1 for row in done) - answered
    lasted = format_duration(spent_ms // 1000 * 1000)
    verdict = f"{len(wrong)} did not end as they should" if wrong else "each ended as it should"
    lines = [screen.paint(f"MEDBAY DEMO  {len(rows)} real commands in {lasted}, {verdict}", BOLD)]
    lines += picture(rows, screen, now, screen.width - 1, answerable=bool(kept))
    text = f"{glyphs.DONE} {alone} healed by themselves, {answered} after one answer to one question"
    needs = f"{glyphs.YOU} {len(questions)} {'needs' if len(questions) == 1 else 'need'} you"
    lines += ["", screen.token(screen.plain(text), "done") + "   " + screen.token(needs, "you")]
    lines += [line for asked in questions for line in _question(asked, screen, kept=bool(kept))]
    for name, how in wrong.items():
        lines.append(screen.token(screen.plain(f"{glyphs.FAILED} not as it should be: {name}: {how}"), "fail"))
    where = f"cd {kept} && medbay inbox" if kept else "medbay demo --keep    keeps its store, to look around"
    lines += [
        "",
        f"Next   {where}",
        "       medbay run -- CMD     one command of yours, with healing",
        "       medbay init           a store here; then medbay add and medbay up",
    ]
    return lines


def _row(row: DemoRow, screen: Screen, now: int, width: int, *, answerable: bool) -> str:
    phrase = status_phrase(row.task, now)
    trail = screen.plain(_trail(row))
    words = screen.plain(_words(row, now, answerable=answerable))
    head = f"{screen.plain(phrase.glyph)} {pad(cut(row.patient.title, TITLE_WIDE), TITLE_WIDE)}"
    ails = pad(cut(row.patient.ails, AILS_WIDE), AILS_WIDE) + " " if width >= AILS_FROM else ""
    room = width - (2 + TITLE_WIDE + 1 + len(ails) + TRAIL_WIDE + 1)
    state = screen.paint(f"{pad(trail, TRAIL_WIDE)} {cut(words, room)}".rstrip(), COLOURS[phrase.token])
    return f"{screen.paint(head, COLOURS[phrase.token])} {screen.paint(ails, DIM)}{state}"


def _trail(row: DemoRow) -> str:
    """What happened so far, one glyph each: `✗◷✗◷✓`."""
    steps: list[str] = []
    for attempt in row.attempts:
        if steps:
            steps.append(glyphs.YOU if steps[-1] == glyphs.YOU else glyphs.WAITING)
        if steps and steps[-2:] == [glyphs.YOU, glyphs.YOU]:
            steps.pop()
        steps.append(glyphs.of_outcome(attempt.outcome)[0])
        if _asks_a_person(attempt):
            steps.append(glyphs.YOU)
    if row.task.status == "blocked" and steps[-1:] != [glyphs.YOU]:
        steps.append(glyphs.YOU)
    if row.task.due_at is not None and not row.task.finished:
        steps.append(glyphs.WAITING)
    return "".join(steps)


def _words(row: DemoRow, now: int, *, answerable: bool) -> str:
    task, attempts = row.task, row.attempts
    match task.status:
        case "completed":
            whole = (attempts[-1].ended_at or now) - attempts[0].started_at
            lasted = format_duration(whole // 1000 * 1000)
            return f"healed in {lasted}, {len(attempts)} attempts" if len(attempts) > 1 else f"done in {lasted}"
        case "blocked" if task.block_kind == "exhausted":
            return f"given up after {len(attempts)} attempts"
        case "blocked":
            return f"asks you: medbay answer {task.id}" if answerable else "asks you"
        case "in_progress":
            return f"attempt {task.live}, {soon((now - task.since) / 1000 // 1)}"
    if task.unmet:
        return f"waits for {row.patient.after}"
    if task.due_at is not None:
        why = clean(task.last_summary).split(": ", 1)[-1] if task.last_summary else "as it asked"
        return f"again in {soon(max(0, task.due_at - now) / 1000)}: {why}"
    return "ready"


def _asks_a_person(attempt: Attempt) -> bool:
    return attempt.diagnosis is not None and not attempt.diagnosis.retryable


def _question(asked: Question, screen: Screen, *, kept: bool) -> list[str]:
    """One question: what is needed, the answers there are, and the command to type where its store is kept."""
    first = asked.task_ids[0]
    options = "  ".join(labels(asked))
    return [
        screen.token(cut(f"{glyphs.YOU} {first} {clean(asked.need)}", screen.width - 1), "you"),
        cut(f"  medbay answer {first} {asked.default}   {options}" if kept else f"  {options}", screen.width - 1),
    ]

"""`medbay inbox`: the questions that wait for a person, oldest first, each with the command that answers it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from medbay.cli.output import DIM, Screen, fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.views import glyphs, moments
from medbay.views import question as view
from medbay.views.text import clean, cut, wrap

if TYPE_CHECKING:
    from medbay.core.model import Question
    from medbay.store.messages import SentMessage

_EVIDENCE_LINES = 3


@click.command()
@json_option
@pass_session
def command(session: Session) -> None:
    """List the questions that wait for a person.

    \b
    Example:
      medbay inbox
    """
    from medbay.env import SystemClock

    asked, sent = session.bay().notifications.inbox()
    if session.json:
        print_json([{**view.as_json(each), "messages": _messages(sent.get(each.id, ()))} for each in asked])
        return
    now = SystemClock().now_ms()
    shown = screen()
    for question in asked:
        if shown.terminal:
            told = _told(sent.get(question.id, ()), now)
            for line in (*question_lines(question, now, shown), *told, *_commands(question, shown)):
                say(line)
        else:
            since = (moments.iso(question.asked_at), question.need, question.why, question.sent)
            fields(question.id, ",".join(question.task_ids), *since)
    if not asked:
        note("no questions: nothing needs you")


def _messages(sent: Sequence[SentMessage]) -> list[dict[str, str | None]]:
    return [{"channel": each.channel, "sent_at": moments.iso(each.sent_at)} for each in sent]


def _told(sent: Sequence[SentMessage], now: int) -> list[str]:
    """Which channels sent it, and when each did so last."""
    last = {each.channel: each.sent_at for each in sent}
    words = ", ".join(f"{clean(name)} {moments.ago(at, now)}" for name, at in last.items())
    return [f"    sent by {words}"] if words else []


def question_lines(question: Question, now_ms: int, shown: Screen) -> list[str]:
    """Return a question for a terminal: need, evidence and options."""
    first = view.name(question)
    waits = moments.short(now_ms - question.asked_at)
    often = f"    asked {waits} ago, sent {question.sent} times" if question.sent > 1 else ""
    head = shown.token(f"{glyphs.YOU} {first}", "you")
    need, *rest = wrap(clean(question.need), shown.width - len(first) - len(waits) - 6, below=shown.width - 4)
    lines = [f"{head}  {waits}  {need}", *(f"    {each}" for each in rest)]
    if often:
        lines.append(often)
    if clean(question.why) not in clean(question.need):
        lines += _hanging(f"why: {clean(question.why)}", 5, shown)
    for line in question.evidence.strip().splitlines()[:_EVIDENCE_LINES]:
        lines.append("    " + shown.paint(f"| {cut(clean(line), shown.width - 6)}", DIM))
    if len(question.task_ids) > 1:
        others = ", ".join(question.task_ids)
        lines.append("    " + cut(f"the same for {len(question.task_ids)} tasks: {others}", shown.width - 4))
    for option in view.options(question):
        lines += _hanging(option, 2, shown)
    return [shown.plain(line) for line in lines]


def _commands(question: Question, shown: Screen) -> list[str]:
    """What to type: the answer, and what says more."""
    first = view.name(question)
    answer, more = f"    medbay answer {first} {view.answer_words(question)}", view.more(question)
    return [f"{answer}        {more}"] if len(answer + more) + 8 <= shown.width else [answer, f"    {more}"]


def _hanging(text: str, indent: int, shown: Screen) -> list[str]:
    """A sentence that has to be read to its end, its further lines below its own beginning."""
    begun, *rest = wrap(text, shown.width - 4 - indent)
    return [f"    {begun}", *(" " * (4 + indent) + each for each in rest)]

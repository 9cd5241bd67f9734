"""What is sent to people: the first line is enough on a lock screen, then what happened, what to choose, one command.

Plain text, local time with its zone, no secrets, at most three lines of a log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from medbay.core.budget import MILLION
from medbay.core.delivery import DIGEST, HEARTBEAT, OVER, REPORT, TEST, MessageFacts
from medbay.core.holds.breaker import Breaker
from medbay.core.model import Event, Question
from medbay.core.people.question import asks_for_words
from medbay.core.redaction import redact
from medbay.views import event as event_views
from medbay.views import glyphs, moments
from medbay.views import question as question_views
from medbay.views.text import clean, cut

FIRST_LINE: Final = 89  # columns
LINE: Final = 300
LOG_LINES: Final = 3
_NAMED: Final = 5  # questions that a digest names


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message, ready to be sent. `text` is what stands below the title."""

    event: str
    title: str
    text: str = ""
    link: str = ""
    command: str = ""
    task: str | None = None
    question: str | None = None
    choices: tuple[tuple[str, str], ...] = ()  # what can be answered with one touch: a label, and the answer
    places: tuple[str, ...] = ()  # of messages that this is written into instead of being sent

    @property
    def whole(self) -> str:
        """The message in one text: title, what follows, and how to act."""
        return "\n".join(filter(None, (self.title, self.body)))

    @property
    def body(self) -> str:
        """What stands below the title."""
        act = "  or  ".join(filter(None, (self.link, self.command)))
        return "\n".join(filter(None, (self.text, act)))

    def as_json(self, key: str) -> dict[str, Any]:
        """The message as a webhook gets it."""
        return {
            "event": self.event,
            "title": self.title,
            "text": self.text,
            "link": self.link or None,
            "command": self.command or None,
            "task": self.task,
            "question": self.question,
            "key": key,
        }


def message(event: Event, facts: MessageFacts, *, page: str = "", channel: str = "", host: str = "") -> Message:
    """The message about an event; `page` is where its reader reaches the page."""
    page = page.rstrip("/")
    if event.name == TEST:
        at = f"{moments.local(facts.now):%H:%M} {moments.zone(facts.now)}"
        return Message(event=TEST, title=f"Medbay test from {host}, {at}. If you read this, {channel} works.")
    made = _MESSAGES.get(event.name, _other)
    return made(event, facts, page)


def _question(event: Event, facts: MessageFacts, page: str) -> Message:
    asked = facts.question
    assert asked is not None
    name = question_views.name(asked)
    about = clean(facts.task.title) if facts.task else ""
    command = f"medbay answer {name} {question_views.answer_words(asked)}"
    link = _answer_link(page, name, facts)
    common: dict[str, Any] = {"event": event.name, "link": link, "task": event.task_id, "question": asked.id}
    if event.data.get("again"):
        waited, subject = moments.short(facts.now - asked.asked_at), about or clean(asked.need)
        behind = f" {_tasks(facts.behind)} wait{'s' if facts.behind == 1 else ''} behind it." if facts.behind else ""
        title = f"{glyphs.YOU} Medbay: {cut(subject, 40)} still waits for you, {waited} (then daily).{behind}"
        return Message(title=title, command=f"medbay answer {name}", choices=_choices(asked), **common)
    need = clean(asked.need).removeprefix(f"{about}: ") if about else clean(asked.need)
    subject = f"{about} needs you: {need}" if about and need != about else f"you are needed: {need}"
    title = _first(f"{glyphs.YOU} Medbay: {subject}")
    text = "\n".join(filter(None, (_tried(facts, asked), *_log(asked), _options(asked))))
    return Message(title=title, text=text, command=command, choices=_choices(asked), **common)


def _choices(asked: Question) -> tuple[tuple[str, str], ...]:
    """The options that need no words; an agent that asks is told no number."""
    if asks_for_words(asked):
        return tuple((clean(each.label), each.effect) for each in asked.options[1:])
    return tuple((label, str(number)) for number, label in enumerate(map(clean, question_views.labels(asked)), 1))


def _over(event: Event, facts: MessageFacts, page: str) -> Message:
    """How a question ended, in place of what can be chosen."""
    asked = facts.question
    if asked is None or not facts.places:
        return _other(event, facts, page)
    who = clean(asked.answered_by).removeprefix("person:")
    how = clean(redact(asked.answer)) or "withdrawn: nobody has to answer any more"
    at = asked.answered_at if asked.answered_at is not None else event.at
    when = f"{moments.clock(at, facts.now, seconds=False)} {moments.zone(at)}"
    title = _first(f"{glyphs.DONE} Medbay: {clean(asked.need)}")
    text = cut(f"{how} ({', '.join(filter(None, (who, when)))})", LINE)
    return Message(event=event.name, title=title, text=text, question=asked.id, places=facts.places)


def _tried(facts: MessageFacts, asked: Question) -> str:
    """How often it was tried, and why that does not go on."""
    task, why = facts.task, clean(redact(asked.why)).rstrip(".")
    if task is None or not task.attempts:
        return cut(f"{why}.", LINE)
    since = task.failing_since
    took = f" in {moments.short(facts.now - since)}" if since is not None and facts.now - since >= 1_000 else ""
    return cut(f"Tried {task.attempts} time{'s' if task.attempts != 1 else ''}{took}; {why}.", LINE)


def _log(asked: Question) -> list[str]:
    lines = [line for line in redact(asked.evidence).splitlines() if line.strip()]
    return [cut(f"Log: {clean(line.strip())}", LINE) for line in lines[-LOG_LINES:]]


def _options(asked: Question) -> str:
    """`1 replaced, retry (default)  2 skip publishing  3 cancel`."""
    labels = [clean(each) for each in question_views.labels(asked)]
    return "  ".join(f"{label} (default)" if at == asked.default else label for at, label in enumerate(labels, 1))


def _opened(event: Event, facts: MessageFacts, page: str) -> Message:
    of, asked = facts.breaker, facts.question
    assert of is not None
    end = of.until if of.until is not None else of.next_at
    until = f" until {moments.clock(end, facts.now, seconds=False)} {moments.zone(end)}" if end is not None else ""
    by_person = of.only_a_person_ends
    todo = "it ends when you answer" if by_person else "nothing for you to do"
    hold = f"{_tasks(facts.held)} hold{'s' if facts.held == 1 else ''}{until}; {todo}"
    subject = cut(_cause(event), max(20, FIRST_LINE - len(hold) - 14))
    name = question_views.name(asked) if asked is not None else ""
    return Message(
        event=event.name,
        title=f"{glyphs.HELD} Medbay: {subject}, {hold}",
        text=cut(clean(redact(of.why)), LINE),
        link=_answer_link(page, name, facts) if asked is not None else _incident_link(page, of),
        command=f"medbay answer {name} 1" if asked is not None else "medbay breaker list",
        task=event.task_id,
        question=asked.id if asked is not None else None,
    )


def _answer_link(page: str, name: str, facts: MessageFacts) -> str:
    """Where the question is answered; behind the # stands what opens it, which no server and no preview gets."""
    signed = f"#answer={facts.link}" if facts.link else ""
    return f"{page}/inbox/{name}{signed}" if page else ""


def _incident_link(page: str, of: Breaker) -> str:
    return f"{page}/incidents/{of.name.rpartition(':')[2]}" if page and of.kind == "incident" else page


def _closed(event: Event, facts: MessageFacts, page: str) -> Message:
    lasted = f" after {moments.short(event.at - facts.breaker.opened_at)}" if facts.breaker else ""
    lost = "no attempt lost" if event.name == "hold:released" else "what it held goes on"
    title = f"{glyphs.DONE} Medbay: {cut(_cause(event), 40)} over{lasted}; {lost}."
    return Message(event=event.name, title=title, link=page, task=event.task_id)


def _cause(event: Event) -> str:
    """What an incident or a hold is about, in few words."""
    why, name = clean(redact(str(event.data.get("why", "")))), str(event.data.get("key", "")).partition(":")[2]
    return f"{clean(name)}: {why}" if event.name.startswith("hold:") and name not in why else why or clean(name)


def _budget(event: Event, facts: MessageFacts, page: str) -> Message:
    data = event.data
    pairs = [(data.get("used_cost"), data.get("daily_cost"), "${:.2f} of ${:g}")]
    pairs.append((data.get("used_tokens"), data.get("daily_tokens"), "{} of {} tokens"))
    used, limit, form = max(((u or 0, m, f) for u, m, f in pairs if m), key=lambda each: each[0] / each[1])
    share = f"{used / limit:.0%}".replace("%", " %")
    whose = f" for the role {clean(str(data['role']))}" if data.get("role") else ""
    title = f"{glyphs.YOU} Medbay: {share} of today's budget{whose} used ({form.format(used, limit)}); "
    title += "at 100 % attempts wait for the next day"
    return Message(event=event.name, title=title, link=page)


def _digest(event: Event, facts: MessageFacts, page: str) -> Message:
    since = moments.clock(int(event.data["since"]), facts.now, seconds=False)
    waiting = len(facts.waiting)
    said = [f"{facts.done} done ({facts.healed} healed)", f"{waiting} need{'s' if waiting == 1 else ''} you"]
    if facts.cost or facts.daily_cost:
        limit = f" of ${facts.daily_cost / MILLION:g}" if facts.daily_cost else ""
        said.append(f"${facts.cost / MILLION:.2f}{limit}")
    lines = [_asked_line(each) for each in facts.waiting[:_NAMED]]
    lines += [f"and {waiting - _NAMED} more"] if waiting > _NAMED else []
    command = "medbay inbox" if waiting else ""
    title = f"Medbay since {since}: {', '.join(said)}."
    return Message(event=DIGEST, title=title, text="\n".join(lines), link=f"{page}/" if page else "", command=command)


def _report(event: Event, facts: MessageFacts, page: str) -> Message:
    title, text = (redact(str(event.data[name])) for name in ("title", "text"))
    return Message(event=REPORT, title=cut(title, FIRST_LINE), text=text, link=f"{page}/" if page else "")


def _asked_line(each: Question) -> str:
    return f"{glyphs.YOU} {question_views.name(each)}  {cut(clean(redact(each.need)), FIRST_LINE)}"


def _other(event: Event, facts: MessageFacts, page: str) -> Message:
    """Any other event in the words of `medbay events`."""
    line = next(iter(event_views.lines([event], lambda _: "")), None)
    about = f"{clean(facts.task.title)}: " if facts.task else ""
    said = line.what if line is not None else f"{event.name} {event_views.data_words(event.data)}".rstrip()
    glyph = f"{line.glyph} " if line is not None else ""
    link = f"{page}/tasks/{event.task_id}" if page and event.task_id else page
    command = f"medbay show {event.task_id}" if event.task_id else ""
    title = _first(f"{glyph}Medbay: {about}{said}")
    return Message(event=event.name, title=title, link=link, command=command, task=event.task_id)


def _heartbeat(event: Event, facts: MessageFacts, page: str) -> Message:
    return Message(event=HEARTBEAT, title="Medbay: the loop goes round")


def _first(text: str) -> str:
    return cut(redact(text), FIRST_LINE)


def _tasks(count: int) -> str:
    return f"{count} task{'s' if count != 1 else ''}"


_MESSAGES: Final[Mapping[str, Callable[[Event, MessageFacts, str], Message]]] = {
    "question:asked": _question,
    "incident:opened": _opened,
    "incident:closed": _closed,
    "hold:placed": _opened,
    "hold:released": _closed,
    "budget:warning": _budget,
    **dict.fromkeys(OVER, _over),
    DIGEST: _digest,
    REPORT: _report,
    HEARTBEAT: _heartbeat,
}

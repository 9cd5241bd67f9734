"""What a daemon prints while it runs: a greeting, one line per change, one line in place, a summary at the end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from medbay.cli.live.display import Display, Feed
from medbay.config.fields import LogConfig
from medbay.core import durations
from medbay.core.holds.breaker import Breaker
from medbay.core.model import Event, Question
from medbay.env import SystemClock
from medbay.errors import StoreError
from medbay.views import breaker, glyphs, moments, question
from medbay.views.event import EventLine, is_shown, level, lines, log_as_json
from medbay.views.text import clean, cut, width, wrap

if TYPE_CHECKING:
    from medbay.bay import Bay
    from medbay.engine.daemon import Daemon

NAMED_AT_START: Final = 5
QUESTIONS_SHOWN: Final = 10
TITLE_SHOWN: Final = 40
WHAT_MIN: Final = 40  # less than this says nothing; then what happened moves to lines of its own
WRAP_MIN: Final = 20
TITLES_KEPT: Final = 2_000
SUCCEEDED: Final = frozenset({"task:iteration_done", "task:completed"})
TRIAGE_ENDED: Final = frozenset({"triage:verdict", "triage:refused", "triage:failed"})
COUNT_EVERY_MS: Final = 500
COUNT_SHARE: Final = 100  # counting a long backlog again waits this many times as long as it took


class Reporter:
    """Prints what happens on a store. `round` is called by the daemon, many times a second."""

    def __init__(self, bay: Bay, display: Display, *, name: str = "medbay up", log: LogConfig = LogConfig()) -> None:
        self._name = name
        self._log = log
        self.completed = 0
        self.healed = 0
        self.judged = 0  # triages that ended
        self._bay = bay
        self._display = display
        self._clock = SystemClock()
        self._feed = Feed(bay, bay.last_seq())
        self._titles: dict[str, str] = {}
        self._triage_ids: set[str] = set()  # those of them that are triages
        self._counted: tuple[str | None, int | None] = (None, None)  # the success that was counted last
        self._counted_at = 0
        self._count_again_at = 0
        self._counts: dict[str, int] = {}
        self._triages: dict[str, int] = {}
        self._breakers: list[tuple[Breaker, int]] = []
        self._miscounted = True  # something happened since they were counted
        self._daemon: Daemon | None = None
        self._stops_seen = 0

    def greet(self, daemon: Daemon) -> None:
        """Which store, how many slots, which retries are pending."""
        self._daemon = daemon
        if self._log.json:
            self.note(f"{self._name}: {self._bay.place.url}, worker {daemon.engine.worker.id}")
            return
        settings, display = daemon.engine.settings, self._display
        queues = "" if settings.queues == ("default",) else f", queues {', '.join(settings.queues)}"
        who = f"{settings.slots} slots{queues}, worker {daemon.engine.worker.id}"
        display.line(self._fitting(f"{self._name}: {clean(self._bay.place.url)}, {who}", 0))
        pending, soonest = self._bay.pending_retries(NAMED_AT_START)
        display.line(f"{pending or 'no'} {'retry is' if pending == 1 else 'retries are'} pending")
        now = self._clock.now_ms()
        for task, due_at in soonest:
            when = f"in {moments.soon((due_at - now) / 1000)}" if due_at > now else "due"
            words = f"{glyphs.WAITING} {task.id} {clean(task.title)}  retry {when}  {clean(task.last_summary)}"
            display.line("  " + display.paint(self._fitting(words.rstrip(), 2), "wait"))
        if pending > len(soonest) > 0:
            display.line(f"  and {pending - len(soonest)} more (medbay list)")

    def round(self, stops: int = 0) -> None:
        """Print what happened since the last round, and how often a stop was asked for."""
        if stops > self._stops_seen and self._daemon is not None:
            self._stops_seen = stops
            self.note(_stopping(self._daemon, stops))
        try:
            events = self._feed.take()
            self._miscounted |= bool(events)
            self._learn_titles({event.task_id for event in events if event.task_id is not None})
            for event in events:
                self._tally(event)
            if said := self._said(events):
                self._display.line("\n".join(said))  # one write for all: there may be many
            self._count()
        except StoreError:
            return  # the daemon says that the store is away; nothing is missed when it is back

    def _said(self, events: Sequence[Event]) -> list[str]:
        """What is printed of these events: those of the level that is asked for, in words or each as JSON."""
        wanted = self._log.level
        if self._log.json:
            words = {(each.at, each.task_id): each.what for each in lines(events, self._title)}
            return [
                json.dumps(log_as_json(each, words.get((each.at, each.task_id or ""), "")))
                for each in events
                if is_shown(level(each), wanted)
            ]
        changes = lines(events, self._title, triages=self._triage_ids)
        return [self._words(each) for each in changes if is_shown(each.level, wanted)]

    def _tally(self, event: Event) -> None:
        """Count successful work, each run of a recurring task too, and apart from it the triages that ended."""
        if event.name in TRIAGE_ENDED:
            self.judged += 1
        elif event.name in SUCCEEDED and event.task_id not in self._triage_ids:
            run = (event.task_id, event.attempt)  # the last run of a recurring task completes it as well
            self.completed += run != self._counted
            self.healed += bool(event.data.get("healed"))
            self._counted = run

    def note(self, words: str, level: str = "info") -> None:
        """A line of the engine itself."""
        if self._log.json:
            at = moments.iso(self._clock.now_ms())
            self._display.line(json.dumps({"level": level, "message": clean(words), "at": at, "name": None}))
            return
        self._display.line(f"{self._moment(self._clock.now_ms())}{self._gap}{clean(words)}")

    def sum_up(self, questions: Sequence[Question]) -> None:
        """What was done, and what waits for a person with the command to type."""
        display = self._display
        if self._log.json:
            self.note(f"{self.completed} completed, {self.healed} healed, {len(questions)} need you")
            return
        healed = f" ({self.healed} healed)" if self.healed else ""
        waiting = len(questions)
        needs = f"   {glyphs.YOU} {waiting} {'needs' if waiting == 1 else 'need'} you" if waiting else ""
        done = display.paint(f"{glyphs.DONE} {self.completed} completed{healed}", "done")
        looked = f"   {glyphs.JUDGED} {self.judged} triage{'' if self.judged == 1 else 's'}" if self.judged else ""
        display.line(done + looked + display.paint(needs, "you"))
        for asked in questions[:QUESTIONS_SHOWN]:
            first = question.name(asked)
            also = f" (and {len(asked.task_ids) - 1} more)" if len(asked.task_ids) > 1 else ""
            need = self._fitting(f"{first}{also}  {clean(asked.need)}", 4)
            display.line(f"  {display.paint(glyphs.YOU, 'you')} {need}")
            options = question.labels(asked)
            answer = f"medbay answer {first} {question.answer_words(asked)}"
            display.line("      " + self._fitting(f"{answer}     {'   '.join(options)}", 6))
        if waiting > QUESTIONS_SHOWN:
            display.line(f"  and {waiting - QUESTIONS_SHOWN} more: medbay inbox")
        now = self._clock.now_ms()
        for each, number in self._bay.breakers():
            if words := breaker.held(each, number, now):
                display.line("  " + display.paint(self._fitting(words, 2), "held"))
                display.line(f"      medbay breaker close {clean(each.key)}")

    def _fitting(self, text: str, indent: int) -> str:
        """Cut to what is left of a line on a terminal; whole for programs."""
        return cut(text, self._display.width - 1 - indent) if self._display.live else text

    @property
    def _gap(self) -> str:
        return " " if self._display.live else "\t"

    def _words(self, change: EventLine) -> str:
        """For people with colours and a short time; for programs between tabs, with the whole time."""
        display = self._display
        moment, glyph = self._moment(change.at), display.paint(change.glyph, change.token)
        if not display.live:
            cells = (moment, change.glyph, change.task_id, change.title, change.what, change.then)
            return "\t".join(cells).rstrip("\t")
        then = f"  {change.then}" if change.then else ""
        named = f"{change.task_id} {cut(change.title, TITLE_SHOWN)}  " if change.task_id else ""
        room = display.width - 1 - len(f"{moment} x ") - width(named) - width(then)
        if room < min(WHAT_MIN, width(change.what)):
            return self._on_several_lines(change, moment, glyph)
        what = display.paint(cut(change.what, room), change.token)
        return f"{moment} {glyph} {named}{what}" + display.paint(then, "wait" if glyphs.WAITING in then else "you")

    def _on_several_lines(self, change: EventLine, moment: str, glyph: str) -> str:
        """For a narrow terminal: which task, below it what happened, broken between words."""
        display = self._display
        lead = f"{moment} {glyph} "
        indent = len(f"{moment} x ")
        named = cut(f"{change.task_id} {change.title}".strip(), display.width - 1 - indent)
        then = f" {change.then}" if change.then else ""
        lines = wrap(f"{change.what}{then}", max(WRAP_MIN, display.width - 1 - indent))
        rest = [" " * indent + display.paint(each, change.token) for each in lines]
        return "\n".join([lead + named, *rest] if named else [lead + rest[0].lstrip(), *rest[1:]])

    def _moment(self, at: int) -> str:
        return moments.clock(at, at) if self._display.live else durations.iso(at)

    def _title(self, task_id: str) -> str:
        return self._titles.get(task_id, "")

    def _learn_titles(self, task_ids: set[str]) -> None:
        """Titles of tasks that were not named before, in one query."""
        unknown = task_ids - self._titles.keys()
        if len(self._titles) >= TITLES_KEPT:
            self._titles.clear()
            self._triage_ids.clear()
            unknown = task_ids
        if unknown:
            self._titles |= self._bay.titles(unknown)
            self._triage_ids |= self._bay.triages_among(unknown)

    def _count(self) -> None:
        """The line in place: what runs, what waits and until when, what needs a person."""
        now = self._clock.now_ms()
        if not self._display.live or now < self._counted_at + COUNT_EVERY_MS:
            return
        self._counted_at = now
        if self._miscounted and now >= self._count_again_at:
            self._counts, self._triages, self._miscounted = self._bay.open_counts(), self._bay.open_triages(), False
            self._breakers = self._bay.breakers()
            done = self._clock.now_ms()
            self._count_again_at = done + COUNT_SHARE * (done - now)
        counts = {status: number - self._triages.get(status, 0) for status, number in self._counts.items()}
        pending, soonest = self._bay.pending_retries(1)
        parts = [f"{glyphs.RUNNING} {counts.get('in_progress', 0) + counts.get('pending_verification', 0)} running"]
        if judging := sum(self._triages.values()):
            parts.append(f"{glyphs.JUDGED} {judging} in triage")
        held = [words for each, number in self._breakers if (words := breaker.held(each, number, now))]
        if ready := counts.get("pending", 0) - sum(number for each, number in self._breakers if each.kind != "agency"):
            parts.append(f"{glyphs.READY} {max(0, ready)} pending")
        parts += held
        if pending:
            left = moments.soon(max(0, soonest[0][1] - now) / 1000)
            parts.append(f"{glyphs.WAITING} {pending} waiting, {soonest[0][0].id} in {left}")
        if blocked := counts.get("blocked", 0):
            parts.append(f"{glyphs.YOU} {blocked} blocked")
        parts.append(f"{glyphs.DONE} {self.completed} done" + (f", {self.healed} healed" if self.healed else ""))
        self._display.status("   ".join(parts))


def _stopping(daemon: Daemon, stops: int) -> str:
    live = len(daemon.engine.live)
    if not live:
        return "stopping"
    if stops > 1:
        return f"stopping at once: {live} running {'is' if live == 1 else 'are'} killed and handed back"
    half_s = daemon.engine.settings.grace_ms / 2000
    return f"stopping: {live} running, handed back unless done within {half_s:g} s (a second signal: at once)"

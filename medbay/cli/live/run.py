"""One task watched to its end: its output passed on, each attempt printed, signals turned into a cancel."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from medbay.cli.live.display import Display, Feed, Interrupts
from medbay.cli.live.output import Tail
from medbay.core.durations import format_duration
from medbay.core.model import DEFAULT_QUEUE, TRIAGE, Attempt, Event, Task
from medbay.env import SystemClock
from medbay.errors import MedbayError, StoreError
from medbay.views import glyphs, moments, question, work
from medbay.views.attempt import ending
from medbay.views.event import diagnosis, lines
from medbay.views.status import says, status_phrase
from medbay.views.text import clean

if TYPE_CHECKING:
    from medbay.bay import Bay
    from medbay.engine.daemon import Daemon

HANDED_OVER: Final = 75
TIME_LIMIT: Final = 124
NOT_EXECUTABLE: Final = 126
NOT_FOUND: Final = 127
SIGNALLED: Final = 128
PIPE_CLOSED: Final = 141
EVENTS_BEHIND_MAX: Final = 1_000  # attempts a slow reader of the output may be behind
_ENDS: Final = frozenset(
    {"task:verifying", "task:failed", "task:completed", "task:requeued", "task:lost", "task:cancelled"}
)

_JUDGED: Final = frozenset({"triage:started", "triage:verdict", "triage:refused", "triage:failed", "task:rescued"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a person wants to wait for the end; None: as long as the policy goes on."""

    attempts: int | None = None
    wait_ms: int | None = None


class Watch:
    """Follows one task through its attempts. `round` is called by the daemon, many times a second."""

    def __init__(
        self,
        bay: Bay,
        task: Task,
        display: Display,
        interrupts: Interrupts,
        patience: Patience = Patience(),
    ) -> None:
        self.task = task
        self.patience = patience
        self.daemon: Daemon | None = None
        self._bay = bay
        self._display = display
        self._interrupts = interrupts
        self._obeyed = 0
        self._feed = Feed(bay, bay.last_seq())
        self._events: deque[Event] = deque()
        self._tail = Tail(display.pass_through)
        self._attempt: Attempt | None = None  # the one that runs now
        self._end_printed = False
        self._clock = SystemClock()

    def round(self) -> None:
        """Obey signals, print what happened, let the clock on the screen go on."""
        try:
            self._obey()
            self._events.extend(event for event in self._feed.take() if event.task_id == self.task.id)
            self._print_events()
            self._give_up_when_due()
            self._tick()
        except StoreError:
            return  # the daemon says that the store is away, and the events are still there when it is back

    def stop_when_asked_twice(self, count: int) -> None:
        """A second signal ends the engine at once, even where the store is away and `round` is not called."""
        if count > 1 and self.daemon is not None:
            self.daemon.stop()
            self.daemon.stop()

    def over(self) -> bool:
        """Whether the task went as far as it goes without a person."""
        task = self.task
        settled = task.finished or (task.status == "blocked" and task.due_at is None) or self._waits_for_a_person()
        return settled and not self._events

    def _waits_for_a_person(self) -> bool:
        """Paused by its triage, or behind a fix that a person has."""
        task = self.task
        if task.live is not None or task.finished:
            return False
        return task.paused or (task.unmet > 0 and self._bay.waits_for_a_person(task.id))

    def close(self) -> None:
        """Give the screen back after the last line."""
        self._display.clear()
        self._tail.close()

    def exit_code(self) -> int:
        """The command's own code where it came to an end, 75 where a person has it now."""
        if self._interrupts.first is not None and self.task.status != "completed":
            return SIGNALLED + self._interrupts.first
        if self._tail.gone and self.task.status == "cancelled":
            return PIPE_CLOSED
        match self.task.status:
            case "completed":
                return 0
            case "blocked" if self.task.block_kind != "exhausted":
                return HANDED_OVER
            case "failed" | "pending" if self._waits_for_a_person():
                return HANDED_OVER
        return own_code(self._bay.attempts(self.task.id, 1)) or 1

    def _obey(self) -> None:
        """The first signal cancels, the second kills. A reader that went away is a cancel as well."""
        wanted = max(self._interrupts.count, 1 if self._tail.gone else 0)
        if wanted <= self._obeyed or self.daemon is None:
            return
        if self._obeyed == 0:
            self._cancel(self.daemon)
        if wanted > 1:
            self._display.line(f"{glyphs.CANCELLED} killing its processes")
            self.daemon.engine.kill_all()
        self._obeyed = wanted

    def _give_up_when_due(self) -> None:
        """Cancel it once it would go on for longer than was asked for."""
        task, patience = self.task, self.patience
        waits = task.attempts > 0 and task.live is None and not self.over() and not self._events
        if not waits or self.daemon is None or self._obeyed:
            return
        if patience.attempts is not None and task.attempts >= patience.attempts:
            self._obeyed = 1
            self._cancel(self.daemon, why=f"gives up after {work.number_of(task.attempts, 'attempt')}")
        elif patience.wait_ms is not None and (waits_ms := self._waited_ms(task)) > patience.wait_ms:
            self._obeyed = 1
            self._cancel(self.daemon, why=f"gives up: it would have waited {_rounded(waits_ms)} in all")

    def _waited_ms(self, task: Task) -> int:
        """How long it has waited between attempts once its next one is due."""
        ran = self._bay.attempts(task.id, EVENTS_BEHIND_MAX)
        until = max(task.due_at or 0, self._clock.now_ms())
        return until - ran[0].started_at - sum((each.ended_at or each.started_at) - each.started_at for each in ran)

    def _cancel(self, daemon: Daemon, *, why: str = "") -> None:
        why = why or ("its output is no longer read" if not self._interrupts.count else "giving up")
        self.task = self._bay.get(self.task.id)
        if self.task.finished:
            return
        if self.task.live is not None:
            again = " (Ctrl-C again kills them)" if self._display.live else ""
            self._display.line(f"{glyphs.CANCELLED} {why}, waiting for its processes to end{again}")
        elif why.startswith("gives up"):
            self._display.line(f"{glyphs.CANCELLED} {why}")
        self.task = self._bay.cancel(self.task.id)
        daemon.engine.stop_cancelled()

    def _print_events(self) -> None:
        while self._events:
            event = self._events[0]
            if event.name in _ENDS and self._attempt is not None and not self._tail.finish():
                return  # its output first, however slow the reader is
            self._events.popleft()
            self._print_event(event)
            if not self._events:
                self.task = self._bay.get(self.task.id)
                if self.over() and not self._end_printed:
                    self._end_printed = True
                    self._print_end()

    def _print_event(self, event: Event) -> None:
        match event.name:
            case "task:started":
                self._begin(event.attempt or 1)
            case name if name in _JUDGED or (name == "task:verifying" and "evaluation" in event.data):
                for change in lines([event], lambda _: ""):
                    self._display.line(self._display.paint(f"{change.glyph} {change.what}", change.token))
            case "task:verifying":
                self._display.line(self._display.paint(f"{glyphs.VERIFYING} succeeded, its checks run", "run"))
            case "gate:passed" if event.data.get("warning"):
                words = f"{glyphs.VERIFYING} accepted with a warning: {clean(str(event.data['warning']))}"
                self._display.line(self._display.paint(words, "wait"))
            case "task:failed":
                self._say_failed(event)
            case "task:requeued" | "task:lost":
                self._attempt = None
                self._display.line(self._display.paint(f"{glyphs.LOST} {_why_again(event)}", "idle"))
            case "task:paused" | "task:resumed":
                by = clean(str(event.data.get("by", "")))
                self._display.line(f"{glyphs.HELD} {event.name.removeprefix('task:')} by {by}")

    def _begin(self, number: int) -> None:
        before, self._attempt = self._numbered(number - 1), self._numbered(number)
        if self._attempt is None:
            return
        self._tail.follow(Path(self._attempt.log_path))
        words = f"{glyphs.RUNNING} attempt {self._attempt.number}"
        if before and self._display.live:  # elsewhere the line of the failure said how long it would be
            words += f"  waited {_rounded(self._attempt.started_at - (before.ended_at or 0))}"
        self._display.later(self._display.paint(words, "run"))

    def _say_failed(self, event: Event) -> None:
        self._attempt = None
        attempt, found = self._numbered(event.attempt or 1), diagnosis(event.data["diagnosis"]).rstrip(".")
        if attempt is None:
            return
        how = ending(attempt)
        words = f"{glyphs.FAILED} {how} after {_lasted(attempt)}: {found}"
        self._display.words(words + self._then(), "fail")

    def _numbered(self, number: int) -> Attempt | None:
        """An attempt by its number: what is printed may be behind what happens."""
        recent = self._bay.attempts(self.task.id, EVENTS_BEHIND_MAX)
        return next((each for each in recent if each.number == number), None)

    def _then(self) -> str:
        """When it is tried again, where no line in place counts down."""
        following = (each for each in self._events if each.name in ("task:retry_scheduled", "task:started"))
        scheduled = next(following, None)
        if self._display.live or scheduled is None or scheduled.name == "task:started":
            return ""
        return f".  {glyphs.WAITING} again in {moments.soon(scheduled.data['delay_s'])} (Ctrl-C gives up)"

    def _tick(self) -> None:
        """The line in place: how long it runs, or when it runs again."""
        display, task, now = self._display, self.task, self._clock.now_ms()
        if not display.live or self.over():
            return
        if self._attempt is not None:
            if display.silent:
                running = format_duration((now - self._attempt.started_at) // 1000 * 1000)
                display.status(f"{glyphs.RUNNING} attempt {self._attempt.number}  {running}", "run")
        elif task.paused:
            display.status(f"{glyphs.HELD} paused; medbay resume {task.id} lets it go on", "held")
        elif task.waits_for == TRIAGE:
            display.status(f"{glyphs.JUDGED} waits for its triage; medbay explain {task.id} says more", "wait")
        elif task.due_at is not None:
            left = format_duration(max(0, -(-(task.due_at - now) // 1000) * 1000))
            display.status(f"{glyphs.WAITING} again in {left} (Ctrl-C gives up)", "wait")

    def _print_end(self) -> None:
        self._attempt = None
        display, task = self._display, self.task
        match task.status:
            case "completed":
                display.line(display.paint(_success_line(task, self._bay.attempts(task.id, 1_000)), "done"))
            case "cancelled":
                display.line(display.paint(f"{glyphs.CANCELLED} cancelled", "idle") + f"     medbay show {task.id}")
            case _:
                self._hand_over()

    def _hand_over(self) -> None:
        """The question and how to answer it. Its queue was ours alone: from here on `up` may take it."""
        display, task = self._display, self.task
        known, after = self._bay.inbox(), self._bay.waits_for(task.id)
        asked = next((each for name in (task.id, *after) for each in known if name in each.task_ids), None)
        need = asked.need.removeprefix(f"{task.title}: ") if asked is not None else ""
        # The line of the failure stands right above; what it said is not said again.
        why = task.reason.removesuffix(task.last_summary).removeprefix(f"{task.last_summary}; ").rstrip(": ")
        words = need if why in need else f"{why}; {need}"
        stands = status_phrase(task, self._clock.now_ms(), after=after).words
        display.words(f"{glyphs.YOU} {stands}: {clean(words)}", "you")
        if asked is not None:
            display.words(f"  {'   '.join(question.labels(asked))}", "you")
            about = task.id if task.id in asked.task_ids else asked.task_ids[0]
            answer = f"medbay answer {about} {question.answer_words(asked)}, then medbay up"
            display.line(f"  {answer}     medbay log {task.id}     exit {self.exit_code()}")
        try:
            self._bay.edit(task.id, queue=DEFAULT_QUEUE)
        except MedbayError as error:
            display.line(f"  it stays in the queue {task.queue}: {error}")


def own_code(attempts: list[Attempt]) -> int:
    """What a shell would say of how the last attempt ended; 0 when nothing is known."""
    if not attempts:
        return 0
    last = attempts[-1]
    if last.outcome in ("timed_out", "stalled"):
        return TIME_LIMIT
    if last.exit_code is not None:
        return last.exit_code
    if last.signal is not None:
        return SIGNALLED + last.signal
    said = last.diagnosis.summary if last.diagnosis is not None else ""
    if last.outcome != "failed" or not said:
        return 0
    return NOT_EXECUTABLE if "permission denied" in said or "not an executable" in said else NOT_FOUND


def _success_line(task: Task, attempts: list[Attempt]) -> str:
    last = attempts[-1]
    warned = f"   {says(task)}." if task.warning else ""
    end = f"exit 0     medbay show {task.id}{warned}"
    if len(attempts) == 1:
        return f"{glyphs.DONE} after {_lasted(last)}.   {end}"
    whole = (last.ended_at or last.started_at) - attempts[0].started_at
    worked = sum((each.ended_at or each.started_at) - each.started_at for each in attempts)
    waited = f"{_rounded(whole)}, {_rounded(whole - worked)} of it waiting"
    return f"{glyphs.DONE} after {_lasted(last)}.   healed: {len(attempts)} attempts, {waited}.   {end}"


def _why_again(event: Event) -> str:
    why = clean(str(event.data["why"]))
    if event.name == "task:requeued" and event.data["asked"]:
        return "it asks to be tried again later (exit 75)"
    return f"attempt {event.attempt} {event.name.removeprefix('task:')}: {why}"


def _lasted(attempt: Attempt) -> str:
    return _rounded((attempt.ended_at or attempt.started_at) - attempt.started_at)


def _rounded(ms: int) -> str:
    return format_duration(ms // 100 * 100 if ms >= 1_000 else ms)

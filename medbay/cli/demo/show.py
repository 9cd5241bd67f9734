"""`medbay demo`: a small fleet of real commands failing in every way, healing live, then the report."""

from __future__ import annotations

import contextlib
import shutil
import signal
import tempfile
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from medbay.bay import Bay
    from medbay.cli.demo.fleet import Patient
    from medbay.cli.demo.screen import DemoRow
    from medbay.cli.live.display import Display, Interrupts
    from medbay.engine.daemon import Daemon

INTERRUPTED: Final = 130
LIMIT_MS: Final = 90_000
DRAW_EVERY_MS: Final = 100
ANSWER_AFTER_MS: Final = 5_000  # long enough to read the question
LINES_KEPT: Final = 100


@click.command(name="demo", short_help="a small fleet failing in every way, healing live")
@click.option("--keep", is_flag=True, help="Keep its directory, to look around and answer its questions.")
def command(keep: bool) -> int:
    """Run a dozen real commands that fail in every way, and watch them heal. Under a minute, then the report.

    It works in a temporary directory of its own and leaves nothing behind.
    """
    home = Path(tempfile.mkdtemp(prefix="medbay-demo-"))
    try:
        return _demonstrate(home, keep=keep)
    finally:
        if not keep:
            shutil.rmtree(home, ignore_errors=True)


def _demonstrate(home: Path, *, keep: bool) -> int:
    from medbay.cli.live.display import Display, Interrupts, log_to

    display = Display()
    with contextlib.closing(_open(home)) as bay:
        show = Show(bay, home, display)
        with (
            Interrupts(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as interrupts,
            log_to(display, lambda words, _: show.note(words)),
        ):
            with _whole_screen(display):
                show.run(interrupts)
        if interrupts.count:
            display.line("stopped; everything it had started is gone")
            return INTERRUPTED
        return show.report(str(home) if keep else "")


class Show:
    """Runs the fleet, prints what happens, answers one question, and judges the end."""

    def __init__(self, bay: Bay, home: Path, display: Display) -> None:
        from medbay.cli.live.display import Feed
        from medbay.env import SystemClock

        self._bay = bay
        self._home = home
        self._display = display
        self._clock = SystemClock()
        self._began_at = self._clock.now_ms()
        self._patients = _add_fleet(bay, home)
        self._feed = Feed(bay, bay.last_seq())
        self._recent: deque[str] = deque(maxlen=LINES_KEPT)
        self._asked_at: int | None = None
        self._answered = False
        self._shared = 0  # how many tasks the one question stood for
        self._drawn_at = 0

    def run(self, interrupts: Interrupts) -> None:
        """Until nothing is left but what waits for a person."""
        daemon = self._bay.daemon(on_round=self._round)
        interrupts.then = lambda count: daemon.stop()
        try:
            daemon.run(until=lambda: self._over(daemon))
        finally:
            interrupts.then = None

    def note(self, words: str, level: str = "warn") -> None:
        """Add one line: to the view where there is one, else print it."""
        spent_s = (self._clock.now_ms() - self._began_at) / 1000
        line = f"{spent_s:5.1f}s  {words}"
        self._recent.append(line)
        if not self._display.live:
            self._display.line(line)

    def report(self, kept: str) -> int:
        """The picture at the end on stdout; whether all went as it should."""
        from medbay.cli import output
        from medbay.cli.demo import screen

        rows = self._rows()
        wrong = {row.patient.title: _standing(row) for row in rows if not row.patient.check(row.task, row.attempts)}
        if self._shared != 2:
            wrong["push to eu"] = f"one question for two tasks was expected, it stood for {self._shared}"
        now = self._clock.now_ms()
        lines = screen.report(
            rows,
            self._bay.inbox(),
            wrong,
            output.screen(),
            now=now,
            spent_ms=now - self._began_at,
            kept=kept,
        )
        for line in lines:
            output.say(line)
        return 1 if wrong else 0

    def _round(self) -> None:
        from medbay.views.event import lines

        titles = {task_id: title for title, (task_id, _) in self._patients.items()}
        fed = (event for event in self._feed.take() if event.name != "question:answered")
        events = [event for event in fed if event.task_id in (None, *titles)]  # a triage is told of by its task
        for change in lines(events, lambda task_id: titles.get(task_id, "")):
            then = f"  {change.then}" if change.then else ""
            self.note(f"{change.glyph} {change.title}  {change.what}{then}")
        self._answer_when_read()
        self._draw()

    def _answer_when_read(self) -> None:
        """The person of this demo: renews the token and answers the one question both pushes wait for."""
        from medbay.cli.demo.fleet import PUSH, TOKEN

        if self._answered:
            return
        pushes = {task_id for task_id, patient in self._patients.values() if patient.script == PUSH}
        asked = next((each for each in self._bay.inbox() if pushes & set(each.task_ids)), None)
        if asked is None:
            return
        now = self._clock.now_ms()
        self._asked_at = self._asked_at or now
        if now - self._asked_at < ANSWER_AFTER_MS:
            return
        (self._home / TOKEN).touch()
        self._shared = len(asked.task_ids)
        self.note(f"a person renews the token and types: medbay answer {asked.task_ids[0]} 1")
        self._bay.answer(asked.id, "1")
        self._answered = True

    def _over(self, daemon: Daemon) -> bool:
        waits_for_answer = self._asked_at is not None and not self._answered
        late = self._clock.now_ms() - self._began_at > LIMIT_MS
        return late or (daemon.engine.is_idle() and not waits_for_answer)

    def _draw(self) -> None:
        from medbay.cli.demo import screen

        now = self._clock.now_ms()
        if not self._display.live or now < self._drawn_at + DRAW_EVERY_MS:
            return
        self._drawn_at = now
        view = screen.live_view(
            self._rows(), list(self._recent), self._display.screen, now=now, began_at=self._began_at
        )
        self._display.raw(view)

    def _rows(self) -> list[DemoRow]:
        from medbay.cli.demo.screen import DemoRow

        return [
            DemoRow(patient=patient, task=self._bay.get(task_id), attempts=self._bay.attempts(task_id))
            for task_id, patient in self._patients.values()
        ]


def _open(home: Path) -> Bay:
    """A store of its own: the configuration and the environment of the user do not reach it."""
    from medbay import app
    from medbay.bay import Bay
    from medbay.cli.demo.fleet import SETTINGS
    from medbay.config.load import FILE_NAME

    (home / FILE_NAME).write_text(SETTINGS, encoding="utf-8")
    app.make_folder(home)
    return Bay(app.find_place(home, store_url=None, environ={}))


def _add_fleet(bay: Bay, home: Path) -> dict[str, tuple[str, Patient]]:
    from medbay.cli.demo.fleet import FLEET

    added: dict[str, tuple[str, Patient]] = {}
    for patient in FLEET:
        after = {"after": [added[patient.after][0]]} if patient.after else {}
        task = bay.add(patient.title, run=patient.script, cwd=str(home), **after, **patient.options)
        added[patient.title] = (task.id, patient)
    return added


def _standing(row: DemoRow) -> str:
    kind = f" · {row.task.block_kind}" if row.task.block_kind else ""
    return f"{row.task.status}{kind} after {len(row.attempts)} attempts"


@contextlib.contextmanager
def _whole_screen(display: Display) -> Iterator[None]:
    """The other screen of the terminal while the view is live; whatever happens, the first one comes back."""
    if not display.live:
        yield
        return
    display.raw("\x1b[?1049h\x1b[?25l\x1b[2J")
    try:
        yield
    finally:
        display.raw("\x1b[?25h\x1b[?1049l")

"""`medbay top`: the tasks live on the whole screen, what needs a person first; keys act on the one that is selected."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Final

from medbay.cli.output import BOLD, COLOURS, DIM, Screen, screen
from medbay.cli.table import Cell, Column, render
from medbay.errors import MedbayError, StoreError
from medbay.views import glyphs
from medbay.views import question as questions
from medbay.views import task as tasks
from medbay.views.text import clean, cut, pad

if TYPE_CHECKING:
    from medbay.bay import Bay
    from medbay.views.task import ListRow

EVERY_S: Final = 1.0
ROWS_MAX: Final = 500
KEYS: Final = "j k move  / filter  o open  r retry  p pause  a answer  l log  ? help  q quit"
HELP: Final = (
    "j, down   next task                 r   retry it now",
    "k, up     task before               p   pause it, or let it go on",
    "/         only titles with a text   a   answer its question: a number, or words",
    "o         show it                   l   its log at the cause",
    "q         quit                      ?   close this",
    "",
    "The same in plain lines: medbay list, medbay inbox, medbay events -f",
)
_ENTER: Final = "\x1b[?1049h\x1b[?25l"
_LEAVE: Final = "\x1b[0m\x1b[?25h\x1b[?1049l"
_WITH_WHY: Final = 72  # columns; with less there is no room for the reason
_WITH_NEXT: Final = 110
_ARROWS: Final = {"\x1b[A": "k", "\x1b[B": "j", "\x1bOA": "k", "\x1bOB": "j"}


@dataclass(slots=True)
class TopState:
    """What the person has chosen; it survives every update."""

    selected: str = ""  # the id of a task
    first: int = 0  # the row at the top
    text: str = ""  # of the filter
    prompt: str = ""  # what is being asked for: "/" or "a"
    typed: str = ""
    message: str = ""
    help: bool = False
    rows: Sequence[ListRow] = field(default=())

    def row(self) -> ListRow | None:
        """The task that is selected."""
        return next((each for each in self.rows if each.task.id == self.selected), None)

    def take(self, rows: Sequence[ListRow]) -> None:
        """Show these; the selection stays with its task, or goes to the one that took its place."""
        at = next((at for at, each in enumerate(self.rows) if each.task.id == self.selected), 0)
        self.rows = rows
        if rows and self.row() is None:
            self.selected = rows[min(at, len(rows) - 1)].task.id

    def move(self, by: int) -> None:
        """Select another row."""
        if self.rows:
            at = next((at for at, each in enumerate(self.rows) if each.task.id == self.selected), 0)
            self.selected = self.rows[max(0, min(at + by, len(self.rows) - 1))].task.id

    def window(self, height: int) -> Sequence[ListRow]:
        """The rows that fit, with the selected one among them."""
        at = next((at for at, each in enumerate(self.rows) if each.task.id == self.selected), 0)
        self.first = max(0, min(self.first, at, max(0, len(self.rows) - height)))
        self.first = max(self.first, at - height + 1)
        return self.rows[self.first : self.first + height]


def draw(state: TopState, counts: str, shown: Screen, height: int) -> list[str]:
    """Return the lines of the whole screen."""
    head = cut(f"medbay top  {counts}" + (f"  /{state.text}" if state.text else ""), shown.width)
    helped = [shown.plain(cut(each, shown.width)) for each in HELP]
    body = helped if state.help else _table(state.window(max(1, height - 3)), state.selected, shown)
    lines = [shown.paint(shown.plain(head), BOLD), *body][: height - 2]
    keys = shown.paint(pad(cut(KEYS, shown.width), shown.width), "7")
    blank = [""] * (height - 2 - len(lines))
    return [*lines, *blank, shown.plain(_below(state, shown.width)), keys]


def _below(state: TopState, columns: int) -> str:
    """The line above the keys: what is asked for, and what was typed in sight; or what became of the last key."""
    if not state.prompt:
        return cut(clean(state.message), columns)
    asks = "filter: " if state.prompt == "/" else "  answer: "
    typed = f"{asks}{clean(state.typed)}"[-columns:]
    return cut(clean(state.message), columns - len(typed)) + typed


def _table(rows: Sequence[ListRow], selected: str, shown: Screen) -> list[str]:
    with_why, with_next = shown.width >= _WITH_WHY, shown.width >= _WITH_NEXT
    cells = []
    for row in rows:
        codes = COLOURS[row.phrase.token]
        mark = ">" if row.task.id == selected else " "
        line = [Cell(mark, BOLD), Cell(row.phrase.glyph, codes), Cell(row.task.id, BOLD if mark == ">" else "")]
        line += [Cell(clean(row.phrase.words), codes), Cell(clean(row.task.title), BOLD if mark == ">" else "")]
        line += [Cell(clean(row.why))] if with_why else []
        line += [Cell(clean(row.next), DIM)] if with_next else []
        cells.append(line)
    columns = [Column(gap=1), Column(gap=1), Column(), Column(cut=True, least=12), Column(cut=True, least=8, most=32)]
    columns += [Column(cut=True, least=8)] if with_why else []
    columns += [Column(cut=True, least=8)] if with_next else []
    return render(cells, columns, shown)


class Top:
    """The screen at work, until the person leaves."""

    def __init__(self, bay: Bay, store: str | None) -> None:
        self._bay = bay
        self._store = store
        self._state = TopState()
        self._counts = ""
        self._terminal = Terminal()

    def run(self) -> None:
        """Draw, hear keys, draw again."""
        with self._terminal.whole_screen():
            while True:
                self._look()
                self._draw()
                for key in self._terminal.keys(EVERY_S):
                    if not self._press(key):
                        return
                    self._draw()

    def _look(self) -> None:
        from medbay.service.listing import ListQuery
        from medbay.store.tasks import TaskFilter

        wanted = TaskFilter(text=self._state.text)
        try:
            found = self._bay.listing(ListQuery(wanted=wanted, limit=ROWS_MAX, explained=True, footer=True))
        except StoreError as error:
            self._state.message = str(error)
            return
        rows = tasks.rows(found, {}, frozenset())
        self._state.take(rows)
        self._counts = tasks.footer(found, rows) or f"{len(rows)} tasks"

    def _draw(self) -> None:
        size = os.get_terminal_size(sys.stdout.fileno())
        shown = Screen(terminal=True, width=max(20, size.columns), colour=_colour(), unicode=screen().unicode)
        lines = draw(self._state, self._counts, shown, max(4, size.lines))
        self._terminal.put("\x1b[H" + "\r\n".join(f"{line}\x1b[K" for line in lines))

    def _press(self, key: str) -> bool:
        """Do what a key means; False when it means to leave."""
        state = self._state
        if state.prompt:
            self._type(key)
            return True
        state.message = ""
        if key in ("q", "\x03", ""):
            return False
        if key == "?":
            state.help = not state.help
        elif key in ("j", "k"):
            state.move(1 if key == "j" else -1)
        elif key == "/":
            state.prompt, state.typed = "/", ""
        elif key in _ACTIONS and (row := state.row()) is not None:
            self._act(_ACTIONS[key], row)
        return True

    def _type(self, key: str) -> None:
        state = self._state
        if key in ("\r", "\n"):
            prompt, typed, state.prompt, state.typed = state.prompt, state.typed, "", ""
            if prompt == "/":
                state.text = typed.strip()
                self._look()
            elif typed.strip() and (row := state.row()) is not None:
                self._act(lambda top, asked: top.answer(asked, typed.strip()), row)
            else:
                state.message = ""
        elif key in ("\x1b", "\x03"):
            state.prompt, state.typed, state.message = "", "", ""
        elif key in ("\x7f", "\b"):
            state.typed = state.typed[:-1]
        elif key.isprintable():
            state.typed += key

    def _act(self, action: Callable[[Top, ListRow], None], row: ListRow) -> None:
        try:
            action(self, row)
            self._look()
        except MedbayError as error:
            self._state.message = str(error)

    def retry(self, row: ListRow) -> None:
        """Retry now."""
        self._bay.retry(row.task.id)
        self._state.message = f"{row.task.id} is retried now"

    def pause(self, row: ListRow) -> None:
        """Pause, or go on."""
        (self._bay.resume if row.task.paused else self._bay.pause)(row.task.id)
        self._state.message = f"{row.task.id} {'goes on' if row.task.paused else 'is paused'}"

    def ask(self, row: ListRow) -> None:
        """Show the question and ask for the answer."""
        asked = next((each for each in self._bay.inbox() if row.task.id in each.task_ids), None)
        if asked is None:
            self._state.message = f"{row.task.id} asks nothing"
            return
        self._state.prompt, self._state.typed = "a", ""
        self._state.message = f"{'  '.join(questions.labels(asked))}  ({clean(asked.need)})"

    def answer(self, row: ListRow, words: str) -> None:
        """Answer its question."""
        chosen, _ = self._bay.answer(row.task.id, words)
        self._state.message = f"{glyphs.DONE} {row.task.id}: {chosen}"

    def show(self, row: ListRow) -> None:
        """Everything about it, on the plain screen."""
        self._terminal.aside(self._command("show", row.task.id))

    def log(self, row: ListRow) -> None:
        """Its log."""
        self._terminal.aside(self._command("log", row.task.id))

    def _command(self, *words: str) -> list[str]:
        code = "import sys; from medbay.cli.main import main; sys.exit(main())"
        store = ["--store", self._store] if self._store else []
        return [sys.executable, "-c", code, *words, *store]


_ACTIONS: Final[dict[str, Callable[[Top, ListRow], None]]] = {
    "r": Top.retry,
    "p": Top.pause,
    "a": Top.ask,
    "o": Top.show,
    "l": Top.log,
}


class Terminal:
    """The person's terminal: the whole of it while `top` runs, and as it was before after any end."""

    def __init__(self) -> None:
        self._input = sys.stdin.fileno()
        self._before = termios.tcgetattr(self._input)

    @contextmanager
    def whole_screen(self) -> Iterator[None]:
        """Take the screen, give it back: at the end, at an error, at a signal, while stopped."""
        wanted = (signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP, signal.SIGCONT, signal.SIGWINCH)
        known = {each: signal.signal(each, self._signalled) for each in wanted}
        try:
            self._enter()
            yield
        finally:
            self._leave()
            for each, before in known.items():
                signal.signal(each, before)

    def keys(self, within_s: float) -> list[str]:
        """What was pressed, waiting at most so long; an end of the input is an empty key."""
        try:
            ready, _, _ = select.select([self._input], [], [], within_s)
            raw = os.read(self._input, 1_024) if ready else None
        except InterruptedError:
            return []
        if raw is None:
            return []
        text = raw.decode("utf-8", "ignore")
        if text in _ARROWS:
            return [_ARROWS[text]]
        return [text] if text.startswith("\x1b") or not text else list(text)

    def put(self, text: str) -> None:
        """Write to the screen."""
        with suppress(BlockingIOError):
            sys.stdout.write(text)
            sys.stdout.flush()

    def aside(self, command: Sequence[str]) -> None:
        """Run a command on the plain screen, and come back when a key is pressed."""
        self._leave()
        try:
            self.put("\n")
            subprocess.run(command, check=False)
            self.put("\n(any key goes back)")
            tty.setcbreak(self._input)
            os.read(self._input, 1_024)
        finally:
            self._enter()

    def _enter(self) -> None:
        tty.setcbreak(self._input)
        self.put(_ENTER)

    def _leave(self) -> None:
        self.put(_LEAVE)
        termios.tcsetattr(self._input, termios.TCSADRAIN, self._before)

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGCONT:
            self._enter()
        elif number == signal.SIGTSTP:
            self._leave()
            os.kill(os.getpid(), signal.SIGSTOP)
        elif number != signal.SIGWINCH:  # which only draws again
            raise SystemExit(128 + number)


def _colour() -> bool:
    return screen().colour

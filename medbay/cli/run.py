"""`medbay run`: one command to its end, with healing, live. Exits with the command's own code."""

from __future__ import annotations

import os
import shlex
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from medbay.cli.session import Session, pass_session
from medbay.cli.values import GroupedCommand, refuse_missing_files
from medbay.errors import NotFound, UsageError

if TYPE_CHECKING:
    from medbay.bay import Bay
    from medbay.cli.live.display import Display
    from medbay.cli.live.run import Patience
    from medbay.core.model import Task

TITLE_SHOWN: Final = 120


@click.command(
    name="run",
    cls=GroupedCommand,
    context_settings={"allow_interspersed_args": False},
    short_help="run one command to its end, with healing",
)
@click.option("--run", "line", metavar="CMD", help="One string for the shell, instead of words after --.")
@click.option(
    "--shell", metavar="SH", help="What runs --run. Default: bash with pipefail where bash is there, else sh."
)
@click.option("--attempts", type=click.IntRange(min=1), metavar="N", help="Give up after N attempts.")
@click.option("--max-wait", metavar="D", help="Give up rather than wait longer than this in all, such as 5m.")
@click.option("--title", metavar="TEXT", help="What to call it. Default: the command itself.")
@click.option("--timeout", metavar="D", help="End an attempt after this long, such as 30s or 2m.")
@click.option("--stall", metavar="D", help="End an attempt that shows no progress for this long.")
@click.option("--cwd", metavar="DIR", help="Where to run it. Default: here.")
@click.option("--env", metavar="K=V", multiple=True, help="A variable for its process (repeatable).")
@click.option("--env-file", metavar="F", help="A file of NAME=VALUE lines, read when an attempt starts; never stored.")
@click.option("--memory", metavar="SIZE", help="End an attempt that takes more, such as 512M.")
@click.option("--cpu-time", metavar="D", help="End an attempt that computes longer than this.")
@click.option("--check", metavar="CMD", multiple=True, help="A command that has to accept the result (repeatable).")
@click.option("--required-check", metavar="CMD", multiple=True, help="A check whose timeout counts as a failure.")
@click.option("--check-timeout", metavar="D", help="End a check after this long. Default: 5m.")
@click.option(
    "--check-threshold", type=float, metavar="X", help="The share of the checks that has to pass. Default: 1."
)
@click.option("--fail-fast/--no-fail-fast", default=None, help="The first check that fails stops the others.")
@click.option("--tag", metavar="T", multiple=True, help="A tag (repeatable).")
@click.option("--priority", metavar="N", type=int, help="0 is most urgent, 4 least. Default: 2.")
@click.option("--policy", hidden=True)  # one value so far: ladder
@click.argument("words", metavar="[--] CMD [ARG]...", nargs=-1, type=click.UNPROCESSED)
@pass_session
def command(session: Session, /, words: tuple[str, ...], line: str | None, **options: Any) -> int:
    """Run one command until it succeeds, is given up, or needs a person. Its output passes through.

    Exits with the command's own code (124 after a time limit, 128+N after a signal), or 75 when a
    person has to decide. Ctrl-C gives up.
    """
    if bool(words) == (line is not None):
        raise UsageError("name one command to run", hint="medbay run -- CMD ARG ..., or medbay run --run 'CMD'")
    from medbay.cli.live.display import Display
    from medbay.cli.live.run import Patience
    from medbay.core.durations import parse_duration
    from medbay.views.work import may_take

    attempts, wait = options.pop("attempts"), options.pop("max_wait")
    patience = Patience(attempts=attempts, wait_ms=parse_duration(wait) if wait is not None else None)
    display = Display()
    bay = _open(session, display)
    task = _add(bay, line if line is not None else list(words), options)
    display.line(may_take(task, bay.policy, attempts=patience.attempts, wait_ms=patience.wait_ms))
    return watch(bay, task, display, patience)


def watch(bay: Bay, task: Task, display: Display, patience: Patience | None = None) -> int:
    """Run this task in an engine of its own, printed live; return the exit code."""
    from medbay.cli.live.display import Interrupts, log_to
    from medbay.cli.live.run import Patience, Watch
    from medbay.errors import StoreError

    with Interrupts(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as interrupts, log_to(display):
        watching = Watch(bay, task, display, interrupts, patience or Patience())
        watching.daemon = bay.daemon(workers=1, queues=(task.queue,), on_round=watching.round)
        watching.daemon.engine.attempts_left = watching.patience.attempts
        interrupts.then = watching.stop_when_asked_twice
        try:
            watching.daemon.run(until=watching.over)
            watching.round()
            return watching.exit_code()
        except StoreError as error:
            what = f"the store went away while {task.id} ran: {error.message}"
            raise StoreError(what, hint=f"medbay up --queue {task.queue} goes on with it") from error
        finally:
            interrupts.then = None
            watching.close()


def _open(session: Session, display: Display) -> Bay:
    """The store that is named or found; where there is none, one is made here."""
    from medbay import app
    from medbay.config.load import FILE_NAME, load

    try:
        return session.bay(create=True)
    except NotFound:
        if session.store is not None:
            raise
    home = Path.cwd()
    written = home / FILE_NAME
    if os.path.lexists(written):  # before anything is made: a refusal leaves nothing behind
        app.check_file(load(written, {}, {}), home, os.environ, trust_file=session.trust_file)
    folder = app.make_home(home, file_is_ours=not os.path.lexists(written), environ=os.environ)
    display.line(f"no store here or above: made {folder}")
    return session.bay(create=True)


def _add(bay: Bay, run: list[str] | str, options: dict[str, Any]) -> Task:
    from medbay.core.model import PRIVATE_QUEUES
    from medbay.env import Ids
    from medbay.views.text import cut

    title = options.pop("title") or cut(run if isinstance(run, str) else shlex.join(run), TITLE_SHOWN)
    given = {name: value for name, value in options.items() if value not in (None, ())}
    if "cwd" in given:
        given["cwd"] = os.path.abspath(given["cwd"])
    if "env_file" in given:
        given["env_file"] = os.path.abspath(given["env_file"])
    refuse_missing_files(bay, given)
    return bay.add(title, run=run, queue=PRIVATE_QUEUES + Ids().store(), **given)

"""`medbay export` and `medbay import`: tasks as JSON lines under the names of `add`, written and added again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from medbay.cli.files import read_lines
from medbay.cli.filters import chosen, filter_options
from medbay.cli.output import note, print_json, print_json_lines, say
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.errors import MedbayError, UsageError

if TYPE_CHECKING:
    from medbay.service.stories import StoryDetail

_ATTEMPTS_MAX: Final = 100_000


@click.command()
@click.option("--all", "everything", is_flag=True, help="Also what has ended.")
@click.option("--trace", "trace_of", metavar="ID", help="The trace of one task or story instead: TRACE.jsonl.")
@click.option("--metrics", "metrics_of", metavar="ID", help="The totals of one task or story instead: METRICS.yaml.")
@filter_options
@json_option
@pass_session
def export(session: Session, /, everything: bool, trace_of: str | None, metrics_of: str | None, **given: Any) -> None:
    """Print the open tasks as JSON lines, oldest first: what `medbay import` and `medbay add --file` read.

    Variables of a task are printed as they are; keep the file to yourself.

    \b
    Example:
      medbay export --tag nightly > tasks.jsonl
      medbay export --trace k7f2
    """
    if trace_of or metrics_of:
        if everything or any(given.values()) or (trace_of and metrics_of):
            raise UsageError("--trace and --metrics are about one task", hint="leave the other options out")
        _print_trace(session, trace_of, metrics_of)
        return
    lines = session.bay().export(chosen(given, everything=everything))
    print_json_lines(lines)
    if not lines:
        note("nothing matches" if any(given.values()) else "no open tasks; medbay export --all has the others")


def _print_trace(session: Session, trace_of: str | None, metrics_of: str | None) -> None:
    from medbay.areas.traces import Traces
    from medbay.views import trace

    bay = session.bay()
    wanted = trace_of or metrics_of or ""
    if bay.stories.exists(wanted):
        _print_story_trace(bay.stories.detail(wanted), metrics=bool(metrics_of))
        return
    task = bay.get(wanted)
    attempts = bay.attempts(task.id, _ATTEMPTS_MAX)
    if trace_of:
        print_json_lines(trace.lines(task, attempts, Traces(bay).tools(task)))
        if not attempts:
            note("it has not started")
        return
    say(trace.metrics(task, attempts).rstrip())


def _print_story_trace(found: StoryDetail, *, metrics: bool) -> None:
    from medbay.core.workflow import artifacts, shapes

    if metrics:
        say(shapes.render(artifacts.metrics_of(found.story, found.runs)).rstrip())
        return
    print_json_lines(artifacts.trace_of(found.story, found.runs))
    if not found.runs:
        note("it has not started")


@click.command(name="import")
@click.argument("file", metavar="FILE", required=False)
@click.option("--key", default="", metavar="PREFIX", help="Give each the key PREFIX:ID; a second time adds nothing.")
@click.option("--all", "everything", is_flag=True, help="Also add what had ended; it runs again.")
@click.option("--crontab", "is_crontab", is_flag=True, help="FILE is a crontab; without one, your own (crontab -l).")
@click.option("--system", is_flag=True, help="A crontab whose jobs name a user, as /etc/crontab has.")
@click.option("--dry-run", is_flag=True, help="Of a crontab: show each line and what it becomes.")
@click.option("--write-config", is_flag=True, help="Of a crontab: write MAILTO into medbay.toml, as a channel.")
@click.option(
    "--catch-up", type=click.Choice(["none", "one", "all"]), help="Of a crontab: what was missed; one if not said."
)
@json_option
@pass_session
def import_(session: Session, /, file: str | None, key: str, everything: bool, is_crontab: bool, **how: Any) -> int:
    """Add the tasks of FILE (- is stdin) as `medbay export` printed them, and print their new ids.

    `after` follows the new ids. Tasks that had ended are left out unless --all is given.
    With --crontab the jobs of a crontab are added, each once; what cannot be taken over is named.

    \b
    Examples:
      medbay export | medbay import - --store sqlite:///other.db
      medbay import --crontab --dry-run
      medbay import --crontab /etc/cron.d/backup
    """
    refuse_inside_attempts("medbay import")
    if is_crontab:
        from medbay.cli.crontab import Asked, import_crontab

        if key or everything:
            raise UsageError("--key and --all are for the lines of an export", hint="a crontab has keys of its own")
        return import_crontab(session, Asked(file=file, **how))
    if stray := next((name for name, value in how.items() if value), None):
        raise UsageError(f"--{stray.replace('_', '-')} goes with --crontab", hint="medbay import --crontab FILE")
    if file is None:
        raise UsageError("name a file of JSON lines, or - for stdin", hint="or medbay import --crontab")
    _import_lines(session, file, key, everything=everything)
    return 0


def _import_lines(session: Session, file: str, key: str, *, everything: bool) -> None:
    name = "stdin" if file == "-" else file
    lines = list(read_lines(file, name))
    try:
        added, left_out = session.bay(create=True).import_lines(lines, key=key, everything=everything)
    except MedbayError as error:
        if error.line_number is not None:
            error.message = f"{name}:{error.line_number}: {error.message}"
            error.hint = error.hint or "nothing was added"
        raise
    if session.json:
        from medbay.views import task as view

        print_json([view.summary(task) for task in added])
    else:
        for task in added:
            say(task.id)
    if left_out:
        note(f"{left_out} had ended and {'was' if left_out == 1 else 'were'} left out; --all adds them too")

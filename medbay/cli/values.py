"""The options that say what a task is: the same for `add` and `edit`, named as in a JSON line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from medbay.cli.completion import agents, tags, task_ids
from medbay.errors import NotFound, UsageError

if TYPE_CHECKING:
    from medbay.bay import Bay

COMMAND_AFTER_DASHES: Final = "medbay.command"
_SPEC_BYTES_MAX: Final = 1_000_000

_OPTIONS: Final = (
    click.option("--run", metavar="CMD", help="One command line for the shell; a list of words comes after `--`."),
    click.option(
        "--shell",
        metavar="SH",
        help="What runs --run and the checks. Default: bash with pipefail where bash is there, else sh.",
    ),
    click.option("--python", metavar="M:F", help="A function to call instead: module:function, or FILE.py:function."),
    click.option("--args", metavar="JSON", help="Its arguments: a list, or an object by name."),
    click.option(
        "--agent",
        metavar="NAME",
        shell_complete=agents,
        help="An agent that works on it, as claude; of several, as claude,codex, the next goes on where one cannot.",
    ),
    click.option("--model", metavar="NAME", help="The model of its agent, or a class of them: small, medium, large."),
    click.option("--person", is_flag=True, default=None, help="Nothing runs: a person is asked to do it."),
    click.option("--isolated", is_flag=True, default=None, help="Call it in a fresh process, not in a warm one."),
    click.option(
        "--after",
        multiple=True,
        metavar="ID",
        shell_complete=task_ids,
        help="Start only when this task is completed (repeatable).",
    ),
    *(
        click.option("--cron", metavar="E", help="Repeat at these times: minute hour day month weekday, or @reboot."),
        click.option("--zone", metavar="TZ", help="The time zone of --cron: Europe/Berlin. Default: UTC."),
        click.option("--every", metavar="D", help="Repeat at this interval: 60s."),
        click.option(
            "--expect-by", metavar="HH:MM", help="Ask a person when it has not succeeded by this time of day."
        ),
        click.option("--max-iterations", type=int, metavar="N", help="Stop after N successful runs."),
        click.option(
            "--catch-up",
            type=click.Choice(["none", "one", "all"]),
            help="Runs missed while nothing ran: the last one (default), all of them in turn, or none.",
        ),
    ),
    click.option("--timeout", metavar="D", help="Time limit of an attempt: 30s, 2m, 8h."),
    click.option(
        "--stall",
        metavar="D",
        help="End an attempt without progress for this long; 0s is never. Default: 10m for agents, never for others.",
    ),
    click.option(
        "--takes-advice/--no-advice",
        default=None,
        help="Whether the command uses guidance. Default: whether it or its script mentions MEDBAY_GUIDANCE.",
    ),
    click.option("--spec", metavar="FILE", help="A file with the specification of the work; - is stdin."),
    click.option("--description", metavar="TEXT", help="What it is for."),
    click.option("--tag", multiple=True, metavar="T", shell_complete=tags, help="A tag (repeatable)."),
    click.option("--priority", type=int, metavar="N", help="0 is most urgent, 4 least. Default: 2."),
    click.option("--policy", metavar="P", hidden=True),  # one value so far: ladder
    click.option("--provider", multiple=True, metavar="NAME", help="A service it needs, NAME or NAME/ACCOUNT."),
    click.option("--mutex", metavar="NAME", help="Of all tasks with this name at most one runs at a time."),
    click.option("--queue", metavar="Q", help="The queue it waits in."),
    click.option(
        "--place", metavar="NAME", help="Where its attempts run, as [places.NAME] says. Default: on this machine."
    ),
    click.option("--cwd", metavar="DIR", help="The directory it runs in. Default: this one."),
    click.option("--env", multiple=True, metavar="K=V", help="A variable for its process (repeatable); it is stored."),
    click.option(
        "--env-file", metavar="F", help="A file of NAME=VALUE lines, read when an attempt starts; never stored."
    ),
    click.option(
        "--env-from",
        multiple=True,
        metavar="NAME",
        help="A variable of the daemon, also one that [runner] secrets keeps from others (repeatable); never stored.",
    ),
    click.option("--memory", metavar="SIZE", help="Memory limit: 512M, 2G."),
    click.option(
        "--worktree/--no-worktree", default=None, help="Of an agent: in a worktree of its own, or in the main tree."
    ),
    click.option("--setup", metavar="CMD", help="What prepares the worktree of an agent: 'npm ci'."),
    click.option("--copy", multiple=True, metavar="FILE", help="A file of the main tree it needs (repeatable)."),
    click.option(
        "--on-pass", type=click.Choice(["keep", "merge", "pr"]), help="What becomes of the branch of an agent."
    ),
    click.option("--max-tokens", type=int, metavar="N", help="What an agent may use up in an attempt."),
    click.option("--max-cost", metavar="X", help="What an attempt of an agent may cost: 2.50."),
    click.option("--cpu-time", metavar="D", help="Limit of CPU time: 10m."),
    *(
        click.option(
            "--check", multiple=True, metavar="CMD", help="A command that has to accept the result (repeatable)."
        ),
        click.option(
            "--required-check", multiple=True, metavar="CMD", help="A check whose timeout counts as a failure."
        ),
        click.option("--check-timeout", metavar="D", help="Time limit of a check. Default: 5m."),
        click.option(
            "--check-threshold",
            type=float,
            metavar="X",
            help="The share of the checks that has to pass, above 0 and at most 1. Default: 1, all of them.",
        ),
        click.option("--fail-fast/--no-fail-fast", default=None, help="The first check that fails stops the others."),
    ),
)


GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "What runs": (
        "--run",
        "--shell",
        "--python",
        "--args",
        "--isolated",
        "--agent",
        "--model",
        "--person",
        "--cwd",
        "--env",
        "--env-file",
        "--env-from",
        "--takes-advice",
    ),
    "When": (
        "--at",
        "--after",
        "--cron",
        "--zone",
        "--every",
        "--max-iterations",
        "--catch-up",
        "--expect-by",
        "--priority",
        "--queue",
        "--place",
        "--mutex",
    ),
    "Limits": ("--timeout", "--stall", "--memory", "--cpu-time", "--max-tokens", "--max-cost", "--provider"),
    "Checks of the result": ("--check", "--required-check", "--check-timeout", "--check-threshold", "--fail-fast"),
    "Git, of an agent": ("--worktree", "--setup", "--copy", "--on-pass"),
    "Description": ("--title", "--description", "--spec", "--assess", "--tag", "--key", "--on-conflict", "--file"),
}
"""The options of a task by subject, as `--help` shows them."""
_OTHERS: Final = "Other"


class GroupedCommand(click.Command):
    """A command whose help shows its options by subject."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options in the groups of `GROUPS`, each in its order there; the rest follows."""
        options = (each for each in self.get_params(ctx) if isinstance(each, click.Option))
        rows = {each.opts[0]: row for each in options if (row := each.get_help_record(ctx)) is not None}
        for group, names in GROUPS.items():
            if shown := [rows.pop(name) for name in names if name in rows]:
                with formatter.section(group):
                    formatter.write_dl(shown)
        with formatter.section(_OTHERS):
            formatter.write_dl(list(rows.values()))


class DashCommand(GroupedCommand):
    """A command that takes another one after `--`, and nothing without it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Everything after the first `--` belongs to the other command."""
        if "--" in args:
            at = args.index("--")
            ctx.meta[COMMAND_AFTER_DASHES] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The usage line shows the other command too."""
        return [*super().collect_usage_pieces(ctx), "[-- CMD ARG...]"]


def value_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Every option of a task."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def given_values(ctx: click.Context, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given, ready for the library; what was not given is left out."""
    given = {name: value for name, value in values.items() if value is not None and value != ()}
    words = ctx.meta.get(COMMAND_AFTER_DASHES)
    if words is not None:
        if "run" in given:
            raise UsageError("--run and a command after -- were both given", hint="leave one of them out")
        if not words:
            raise UsageError("nothing comes after --", hint="write the command after it: -- CMD ARG...")
        given["run"] = list(words)
    for name in ("after", "tag", "provider", "env", "env_from", "check", "required_check", "copy"):
        if name in given:
            given[name] = list(given[name])
    if "spec" in given:
        given["spec"] = _read_spec(given["spec"])
    for name in ("cwd", "env_file"):
        if given.get(name):
            given[name] = os.path.abspath(given[name])
    return given


def refuse_missing_files(bay: Bay, given: Mapping[str, Any]) -> None:
    """Refuse a directory or a file of variables that does not exist, where the task runs here: SQLite is local."""
    from medbay.app import is_postgres

    directory = given.get("cwd")
    if directory and not is_postgres(bay.place.url) and not os.path.isdir(directory):
        raise UsageError(f"there is no directory {directory}", hint="create it, or name another with --cwd")
    file = given.get("env_file")
    if file and not is_postgres(bay.place.url) and not os.path.isfile(os.path.join(directory or "", file)):
        raise UsageError(f"there is no file {file}", hint="create it, or name another with --env-file")


def _read_spec(name: str) -> str:
    try:
        with sys.stdin.buffer if name == "-" else open(name, "rb") as file:
            data = file.read(_SPEC_BYTES_MAX + 1)
    except FileNotFoundError:
        raise NotFound(f"there is no file {name}", hint="name a file with the specification") from None
    except OSError as error:
        raise UsageError(f"cannot read the specification {name}: {error.strerror}", hint="name a file") from None
    if len(data) > _SPEC_BYTES_MAX:
        raise UsageError(f"{Path(name).name} is too large for a specification", hint="name the file in it instead")
    return data.decode("utf-8", "replace")

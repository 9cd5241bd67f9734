"""The entry point: a group that loads a command when it is called, and one line for every error."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module

import click

import medbay
from medbay.cli import complaint
from medbay.cli.commands import BY_NAME, FIRST, SYNONYMS, TABLE
from medbay.cli.session import Session, global_options, json_params
from medbay.errors import UsageError

INTERRUPTED = 130
_PIPE_CLOSED = 141


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    if args is None:
        _hear_ctrl_c()
    words = list(sys.argv[1:] if args is None else args)
    session = Session()
    _open_closed_streams()
    try:
        code = root.main(words, prog_name="medbay", standalone_mode=False, obj=session)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BrokenPipeError:
        _forget_stdout()
        return _PIPE_CLOSED
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except Exception as error:
        debug = session.debug or complaint.asked_for("--debug", words)
        return complaint.complain(error, as_json=complaint.asked_for("--json", words), debug=debug)
    finally:
        session.close()


class LazyGroup(click.Group):
    """The commands of the table, imported one at a time, shown by section."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every name, in the order of the table."""
        return list(BY_NAME)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command that is called."""
        entry = BY_NAME.get(cmd_name)
        if entry is None:
            return None
        try:
            module = import_module(f"medbay.cli.{entry.module}")
        except ModuleNotFoundError as error:
            if error.name == f"medbay.cli.{entry.module}":
                raise click.UsageError(f"{cmd_name} is not available in this version", ctx) from None
            raise
        command = getattr(module, entry.attribute)
        assert isinstance(command, click.Command)
        _take_global_options(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown one gets a guess: its synonym here, or the nearest name."""
        name = args[0]
        if name not in BY_NAME and not name.startswith("-") and not ctx.resilient_parsing:
            if meant := SYNONYMS.get(name.lower()):
                raise UsageError(f'there is no command "{name}"', hint=f"did you mean {meant}?")
            raise complaint.unknown("command", name, BY_NAME, otherwise="medbay help --all lists them")
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The first view: the commands of `FIRST`, then the options; all of it without importing anything."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        with formatter.section("Commands"):
            formatter.write_dl([(name, BY_NAME[name].help) for name in FIRST])
        self.format_options(ctx, formatter)
        self.format_epilog(ctx, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options alone: click would list every command below them."""
        click.Command.format_options(self, ctx, formatter)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
    epilog=f"medbay help COMMAND explains one, medbay help --all lists the other {len(TABLE) - len(FIRST)}.",
)
@click.version_option(medbay.__version__, prog_name="medbay", message="%(prog)s %(version)s")
@click.pass_context
def root(ctx: click.Context) -> None:
    """Run unattended work, and heal it when it fails."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


root.params += [*global_options(), *json_params()]


def _take_global_options(command: click.Command) -> None:
    """`--store` and its like also work after the name of the command, and of its subcommand."""
    known = {name for parameter in command.params for name in parameter.opts}
    command.params += [each for each in global_options() if not known & set(each.opts)]
    if isinstance(command, click.Group):
        for below in command.commands.values():
            _take_global_options(below)


def _hear_ctrl_c() -> None:
    """A script's background job starts with SIGINT ignored, and `events -f` would never end. `nohup` stays in force."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _open_closed_streams() -> None:
    """A caller may have closed stdout or stderr (`>&-`): then it is not read."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))


def _forget_stdout() -> None:
    """The reader went away; nothing is left to flush when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""What the global options say, and the Bay they lead to. One per call of the command line, in `ctx.obj`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from medbay.errors import NotAllowed, UsageError

if TYPE_CHECKING:
    from medbay.app import StoreLocation
    from medbay.bay import Bay

ATTEMPT_KEY: Final = "MEDBAY_ATTEMPT_KEY"
_FOR_PEOPLE: Final = ("trust", "trust_file")  # options that take a decision


@dataclass(slots=True)
class Session:
    """The global options; they may stand before or after the name of the command."""

    store: str | None = None
    trust: bool = False
    trust_file: bool = False
    debug: bool = False
    json: bool = False
    _open: list[Bay] = field(default_factory=list)

    def bay(self, *, create: bool = False) -> Bay:
        """The store that is meant, opened; closed when the command ends."""
        from medbay.bay import open_bay

        bay = open_bay(self.store, create=create, trust=self.trust, trust_file=self.trust_file)
        self._open.append(bay)
        return bay

    def place(self) -> StoreLocation:
        """Where the store is, without opening it."""
        from medbay import app

        return app.find_place(Path.cwd(), store_url=self.store, environ=os.environ, trust_file=self.trust_file)

    def close(self) -> None:
        """Give everything back."""
        while self._open:
            self._open.pop().close()


pass_session: Final = click.make_pass_decorator(Session, ensure=True)


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--json`, for commands that show something."""
    return click.option("--json", **_json_settings())(command)


def json_params() -> list[click.Parameter]:
    """`--json` for the group itself: before the name of the command it means the same."""
    return [click.Option(["--json"], **_json_settings())]


def global_options() -> list[click.Parameter]:
    """The options every command takes."""

    def option(name: str, help_text: str, attribute: str, **more: Any) -> click.Option:
        return click.Option(
            [name],
            expose_value=False,
            callback=lambda ctx, _, given: _remember(ctx, attribute, given),
            help=help_text,
            **more,
        )

    return [
        option("--store", "The store: sqlite:///FILE. Default: .medbay/ here or above.", "store", metavar="URL"),
        option("--trust", "Use a store of another machine or user.", "trust", is_flag=True),
        option("--trust-file", "Allow what medbay.toml sets now, as medbay trust does.", "trust_file", is_flag=True),
        option("--debug", "Show the traceback of an error.", "debug", is_flag=True),
        click.Option(
            ["--no-color"], is_flag=True, expose_value=False, callback=_no_color, help="No colours (as NO_COLOR=1)."
        ),
    ]


def refuse_inside_attempts(what: str, kind: str = "command") -> None:
    """A person's commands are not for the processes Medbay itself runs."""
    if os.environ.get(ATTEMPT_KEY):
        raise NotAllowed(
            f"{what} is a person's {kind}, and this runs inside an attempt ({ATTEMPT_KEY} is set)",
            hint="let the attempt end, and a person decides",
        )


def _json_settings() -> dict[str, Any]:
    return {
        "is_flag": True,
        "expose_value": False,
        "callback": lambda ctx, _, given: _remember(ctx, "json", given),
        "help": "Print JSON with documented, stable fields.",
    }


def _remember(ctx: click.Context, attribute: str, given: object) -> None:
    if given == "":  # of a variable that is not set: the store found here would not be the one that is meant
        raise UsageError(f"--{attribute} is empty", hint="leave it out, or name what is meant")
    if given:
        if attribute in _FOR_PEOPLE:
            refuse_inside_attempts(f"--{attribute.replace('_', '-')}", kind="option")
        setattr(ctx.ensure_object(Session), attribute, given)


def _no_color(ctx: click.Context, parameter: click.Parameter, given: bool) -> None:
    if given:
        os.environ["NO_COLOR"] = "1"

"""`medbay policy`: the rules in force and their origin, mistakes in a file, what a failure would lead to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from medbay.cli import policy_learn, policy_replay, policy_simulate, reading, times
from medbay.cli.diagnose import as_json, diagnosis_of
from medbay.cli.diagnose import sentences as diagnosis_sentences
from medbay.cli.output import BOLD, DIM, fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.cli.table import aligned
from medbay.cli.text import clean, cut
from medbay.core.durations import format_duration
from medbay.errors import NotFound

if TYPE_CHECKING:
    from medbay.config.keys import Config
    from medbay.core.diagnosis import Diagnosis
    from medbay.core.policy.forecast import Forecast

_WRONG = 2


@click.group()
def command() -> None:
    """The rules that decide what follows a failure."""


command.add_command(policy_learn.command)
command.add_command(policy_replay.command)
command.add_command(policy_simulate.command)


@command.command("show")
@json_option
@pass_session
def show(session: Session) -> None:
    """Print the policy in force, with where each value came from.

    \b
    Example:
      medbay policy show
    """
    from medbay import app

    config = _config(session)
    made = app.policy_of(config).hash()
    settings = (*config.under("policy"), *config.under("recurring"))
    if session.json:
        rows = [{"key": each.key.path, "value": each.raw, "source": each.source} for each in settings]
        print_json({"hash": made, "preset": config.policy.preset, "settings": rows})
        return
    shown = screen()
    lines = [(each.key.path, clean(each.text), clean(each.source)) for each in settings]
    if not shown.terminal:
        for line in lines:
            fields(*line)
        return
    for text, (_, _, source) in zip(aligned(lines), lines, strict=True):
        say(shown.paint(cut(text, shown.width), DIM if source == "default" else BOLD))
    note(f"policy {made}; bold is not a default")


@command.command("check")
@click.argument("file", default="medbay.toml")
@json_option
@pass_session
def check(session: Session, file: str) -> int:
    """Name every mistake in a configuration file with its line; exit 2 if there is one.

    Programs that it names and that are not there are mistakes too.

    \b
    Example:
      medbay policy check medbay.toml
    """
    from medbay.config.load import check_text

    with reading.opened(file) as stream:
        data = stream.read(reading.BYTES_MAX)
    text, folder = data.decode("utf-8-sig", "replace"), Path(file).parent
    mistakes = check_text(text, "stdin" if file == "-" else file, folder=folder)
    if session.json:
        print_json([{"file": at.file, "line": at.line, "message": at.message, "hint": at.hint} for at in mistakes])
        return _WRONG if mistakes else 0
    for each in mistakes:
        say(clean(str(each)))
    count = "no mistakes" if not mistakes else "1 mistake" if len(mistakes) == 1 else f"{len(mistakes)} mistakes"
    note(f"{file}: {count}")
    return _WRONG if mistakes else 0


@command.command("dry-run")
@click.argument("file", default="-")
@click.option("--exit-code", type=int, metavar="N", help="How the run ended.")
@click.option("--timed-out", is_flag=True, help="Its time limit ended it.")
@json_option
@pass_session
def dry_run(session: Session, file: str, exit_code: int | None, timed_out: bool) -> None:
    """Say what the policy in force would do if a first attempt failed with this output.

    \b
    Example:
      medbay policy dry-run build.log --exit-code 1
    """
    from medbay import app
    from medbay.env import SystemClock

    rules = app.policy_of(_config(session))
    found = diagnosis_of(reading.text_of(file), exit_code=exit_code, timed_out=timed_out)
    now = SystemClock().now_ms()
    steps = _decisions(found, rules, now)
    if session.json:
        print_json({"diagnosis": as_json(found), "decisions": [_step(each) for each in steps]})
        return
    shown = screen()
    if not shown.terminal:
        for label, told in diagnosis_sentences(found):
            fields(label, told)
        for each in steps:
            fields("decision", each.attempt, each.step.action, times.iso(each.step.due_at), each.step.why)
        return
    for label, told in diagnosis_sentences(found):
        say(shown.paint(label.ljust(12), BOLD) + shown.plain(cut(clean(told), shown.width - 12)))
    say(shown.paint("then, if every attempt failed like this", BOLD))
    rows = [(f"attempt {each.attempt}", clean(_told(each, now)), clean(each.step.why)) for each in steps]
    for line in aligned(rows, indent=2):
        say(shown.plain(cut(line, shown.width)))


def _config(session: Session) -> Config:
    """The configuration here; without a store the defaults and the environment."""
    from medbay.config import load as configuration

    try:
        return session.place().config
    except NotFound:
        return configuration.load(None, os.environ, {})


def _decisions(found: Diagnosis, rules: Any, now: int) -> list[Forecast]:
    """The decision about this failure, then those that would follow, five in all."""
    from dataclasses import replace

    from medbay.core.attempt.counting import count_failure
    from medbay.core.model import Task
    from medbay.core.policy.forecast import STEPS, Forecast, decide_failure, forecast

    task = count_failure(replace(Task(id="dry-run", title="dry run"), attempts=1), charge=found.charge, now=now)
    first = decide_failure(task, found, rules, now)
    made = [Forecast(now, 1, first)]
    if first.due_at is None:
        return made
    return [*made, *forecast(replace(task, due_at=first.due_at), found, rules, now, steps=STEPS - 1)]


def _told(each: Forecast, now: int) -> str:
    step = each.step
    if step.due_at is None:
        return f"{step.action.replace('_', ' ')} (blocked · {step.block_kind})"
    wait = format_duration(step.due_at - each.at)
    return f"{step.action.replace('_', ' ')} after {wait}, {times.clock(step.due_at, now)}"


def _step(each: Forecast) -> dict[str, Any]:
    step = each.step
    return {
        "attempt": each.attempt,
        "at": times.iso(each.at),
        "action": step.action,
        "why": step.why,
        "delay_s": None if step.delay_ms is None else step.delay_ms / 1000,
        "due_at": times.iso(step.due_at) or None,
        "block_kind": step.block_kind,
        "guidance": step.guidance.text if step.guidance else None,
    }

"""`medbay policy`: the rules in force and their origin, mistakes in a file, what a failure would lead to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from medbay.cli import files
from medbay.cli.diagnose import diagnosis_of
from medbay.cli.output import BOLD, DIM, fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.cli.table import aligned
from medbay.core.durations import parse_duration
from medbay.errors import NotFound, UsageError
from medbay.views import diagnosis, moments
from medbay.views import policy as view
from medbay.views.text import clean, cut, width, wrap

if TYPE_CHECKING:
    from medbay.config.fields import Config
    from medbay.core.diagnosis import Diagnosis
    from medbay.core.policy.forecast import Forecast
    from medbay.core.policy.learning import Choice, Learned
    from medbay.core.policy.policy import Policy
    from medbay.core.policy.replay import PolicyScore
    from medbay.sim.comparison import ComparedFleet, Ours


_WRONG = 2


@click.group()
def command() -> None:
    """The rules that decide what follows a failure."""


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
    from medbay.config.keys import under

    config = _config(session)
    made = app.policy_of(config).hash()
    settings = (*under(config, "policy"), *under(config, "recurring"))
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
    for text, (name, value, source) in zip(aligned(lines), lines, strict=True):
        fits = width(text) <= shown.width
        rest = [f"  {line}" for line in wrap(f"{value}  {source}", shown.width - 2)]
        for part in (text,) if fits else (cut(name, shown.width), *rest):
            say(shown.paint(part, DIM if source == "default" else BOLD))
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

    with files.opened(file) as stream:
        data = stream.read(files.BYTES_MAX)
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
    found = diagnosis_of(files.text_of(file), exit_code=exit_code, timed_out=timed_out)
    now = SystemClock().now_ms()
    steps = _decisions(found, rules, now)
    if session.json:
        print_json(
            {"diagnosis": diagnosis.as_json(found), "decisions": [view.forecast_as_json(each) for each in steps]}
        )
        return
    shown = screen()
    if not shown.terminal:
        for label, sentence in diagnosis.sentences(found):
            fields(label, sentence)
        for each in steps:
            fields("decision", each.attempt, each.step.action, moments.iso(each.step.due_at), each.step.why)
        return
    for label, sentence in diagnosis.sentences(found):
        say(shown.paint(label.ljust(12), BOLD) + shown.plain(cut(clean(sentence), shown.width - 12)))
    say(shown.paint("then, if every attempt failed like this", BOLD))
    rows = [(f"attempt {each.attempt}", clean(view.decision(each, now)), clean(each.step.why)) for each in steps]
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
    from msgspec.structs import replace

    from medbay.core.attempt.counting import count_failure
    from medbay.core.model import Task
    from medbay.core.policy.forecast import STEPS, Forecast, decide_failure, forecast

    task = count_failure(replace(Task(id="dry-run", title="dry run"), attempts=1), charge=found.charge, now=now)
    first = decide_failure(task, found, rules, now)
    made = [Forecast(now, 1, first)]
    if first.due_at is None:
        return made
    return [*made, *forecast(replace(task, due_at=first.due_at), found, rules, now, steps=STEPS - 1)]


def print_scores(
    scores: Mapping[str, PolicyScore], *, within: str = "", more: tuple[str, Mapping[str, str]] = ("", {})
) -> None:
    """A line per policy; with a head where people read it. `more` is a last column by policy."""
    shown = screen()
    rows = [(name, *view.score_cells(each), *((more[1][name],) if more[0] else ())) for name, each in scores.items()]
    if not shown.terminal:
        for row in rows:
            fields(*((within,) if within else ()), *row)
        return
    head, *lines = aligned(
        [(*view.SCORE_HEAD, *((more[0],) if more[0] else ())), *((clean(row[0]), *row[1:]) for row in rows)]
    )
    say(shown.paint(cut(head, shown.width), BOLD))
    for line in lines:
        say(shown.plain(cut(line, shown.width)))


@command.command("learn")
@json_option
@pass_session
def learn(session: Session) -> None:
    """Show which delays would be learned from the retries so far, and from what.

    With `adaptive = true` in [policy] they are used; without it this only looks.

    \b
    Example:
      medbay policy learn
    """
    bay = session.bay()
    found = [(each, _choices(each, bay.policy)) for each in bay.learned()]
    if session.json:
        print_json({"adaptive": bay.policy.adaptive, "classes": [view.learned_as_json(*each) for each in found]})
        return
    if screen().terminal:
        _for_people(found)
    else:
        _for_programs(found)
    if not found:
        note("no retry has ended yet: there is nothing to learn from")
    elif bay.policy.adaptive:
        note("adaptive delays are on: new retries wait as chosen here")
    else:
        note("adaptive delays are off: nothing here is used until adaptive = true stands in [policy]")


def _choices(learned: Learned, policy: Policy) -> list[Choice]:
    from medbay.core.policy import learning
    from medbay.core.policy.policy import schedule_of

    return [learning.choose(learned, scheduled) for scheduled in schedule_of(learned.kind, policy)]


def _for_people(found: list[tuple[Learned, list[Choice]]]) -> None:
    shown = screen()
    for learned, choices in found:
        say(shown.paint(clean(learned.kind), BOLD) + shown.plain(f"   {view.record(learned)}"))
        if not learned.enough:
            say(shown.plain(cut(f"  as scheduled: {choices[0].why}", shown.width)))
            continue
        bands = [(f"waited {view.span(band)}", f"{band.tries} tried", view.share(band)) for band in learned.bands]
        rows = [(view.delay(choice), clean(choice.why)) for choice in choices]
        for line in (*aligned(bands, indent=2), *aligned(rows, indent=2)):
            say(shown.plain(cut(line, shown.width)))


def _for_programs(found: list[tuple[Learned, list[Choice]]]) -> None:
    for learned, choices in found:
        fields("class", learned.kind, learned.tries, learned.well, "enough" if learned.enough else "too few")
        for band in learned.bands:
            spread = (band.low_ms / 1000, band.high_ms / 1000, band.tries, band.well, f"{band.share:.3f}")
            fields("waited", learned.kind, *spread)
        for choice in choices:
            fields("delay", learned.kind, choice.scheduled_ms / 1000, choice.delay_ms / 1000, choice.why)


IN_FORCE: Final = "in force"
MODEL: Final = (
    "An attempt is assumed to fail until the moment one succeeded, and to succeed from then on.",
    "What a person ended is assumed to last until a person is asked.",
    "Free slots, breakers and learned delays are left out.",
)


@command.command("replay")
@click.option("--policy", "file", metavar="FILE", help="A medbay.toml with the other policy.")
@click.option("--since", default="30d", show_default=True, metavar="D", help="How far back.")
@json_option
@pass_session
def replay(session: Session, file: str | None, since: str) -> None:
    """Replay the recorded failures: as they went, under the policy in force, and under another.

    \b
    Examples:
      medbay policy replay --policy patient.toml
      medbay policy replay --since 7d
    """
    from medbay import app
    from medbay.config import load as configuration

    since_ms = parse_duration(since)
    if since_ms == 0:
        raise UsageError("--since 0s leaves nothing to replay", hint="write it like 30d")
    if file is not None and not Path(file).exists():
        raise NotFound(f"there is no file {file}", hint="name a medbay.toml")
    bay = session.bay()
    policies = {IN_FORCE: bay.policy}
    if file is not None:
        policies[file] = app.policy_of(configuration.load(Path(file), {}, {}))
    scores = bay.replay(policies, since_ms=since_ms)
    guessed = {name: each.guessed for name, each in scores.items()}
    if session.json:
        rows = [{**view.score_as_json(name, each), "attempts_guessed": each.guessed} for name, each in scores.items()]
        print_json({"since": since, "assumed": list(MODEL), "policies": rows})
        return
    print_scores(scores)
    for line in MODEL:
        note(line)
    if any(guessed.values()):
        text = ", ".join(f"{name} {count}" for name, count in guessed.items() if count)
        note(f"attempts that only this assumption decides: {text}")


OURS: Final = "medbay"
TOTAL: Final = "all"


@command.command("simulate")
@click.option("--scenario", metavar="NAME", help="One fleet only. Default: all of them.")
@click.option(
    "--seeds", type=click.IntRange(1, 1000), default=5, show_default=True, metavar="N", help="Nights of each."
)
@click.option(
    "--policy", "file", metavar="FILE", help="A medbay.toml with another policy to compare with the one in force."
)
@json_option
@pass_session
def simulate(session: Session, scenario: str | None, seeds: int, file: str | None) -> None:
    """Run synthetic fleets through a night of trouble, under the policy in force, another one, and those of others.

    \b
    Examples:
      medbay policy simulate
      medbay policy simulate --scenario outage --policy patient.toml
    """
    from medbay.sim import comparison
    from medbay.sim.fleets import SCENARIOS

    if scenario is not None and scenario not in SCENARIOS:
        raise UsageError(f'there is no scenario "{scenario}"', hint=f"choose one of: {', '.join(SCENARIOS)}")
    chosen = [SCENARIOS[scenario]] if scenario is not None else list(SCENARIOS.values())
    results = comparison.compare(chosen, range(1, seeds + 1), _ours(session, file))
    if len(chosen) > 1:
        results[TOTAL] = comparison.total(results)
    stories = {each.name: f"{each.story} ({each.source})" for each in chosen}
    if session.json:
        print_json(
            {
                "seeds": seeds,
                "scenarios": [_comparison(name, stories, each) for name, each in results.items()],
            }
        )
        return
    for name, each in results.items():
        _print(name, stories.get(name, "every fleet; times are those of the slowest"), each)
    note("medbay ran in the real engine on virtual time, the others in a plain queue with the same slots and fates")
    note("right: healed, or with a person where nothing could heal it; times are from ready to done")


def _ours(session: Session, file: str | None) -> Mapping[str, Ours]:
    """The policy in force here (without a store: the shipped one), and the one of a file."""
    import os

    from medbay import app
    from medbay.config import load as configuration
    from medbay.sim.comparison import Ours

    try:
        config = session.place().config
    except NotFound:
        config = configuration.load(None, os.environ, {})
    found = {OURS: Ours(policy=app.policy_of(config), limits=config.limits)}
    if file is not None:
        other = configuration.load(Path(file), {}, {})
        found[file] = Ours(policy=app.policy_of(other), limits=other.limits)
    return found


def _print(name: str, story: str, results: Mapping[str, ComparedFleet]) -> None:
    shown = screen()
    if shown.terminal:
        say(shown.paint(name, BOLD) + shown.plain(f"  {story}"))
    scores = {each: result.score for each, result in results.items()}
    right = {each: str(result.right) for each, result in results.items()}
    print_scores(scores, within="" if shown.terminal else name, more=("right", right))


def _comparison(name: str, stories: Mapping[str, str], results: Mapping[str, ComparedFleet]) -> dict[str, object]:
    from medbay.sim.comparison import beats

    ours = results[OURS]
    rows = [
        {
            **view.score_as_json(each, result.score),
            "right": result.right,
            "beaten": None if each == OURS else beats(ours, result),
        }
        for each, result in results.items()
    ]
    return {"scenario": name, "story": stories.get(name, ""), "policies": rows}

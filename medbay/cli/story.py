"""`medbay story`: long pieces of work that walk through phases to done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from medbay.cli.output import note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.cli.story_board import NO_STORIES, board, schema, stats
from medbay.cli.table import Cell, Column, render
from medbay.errors import NotFound, UsageError
from medbay.views.text import clean

if TYPE_CHECKING:
    from medbay.areas.stories import PhaseResult, Stories
    from medbay.bay import Bay
    from medbay.core.model import Task
    from medbay.core.workflow.records import Story


_LISTED: Final = (Column(), Column(cut=True, least=8), Column(cut=True, least=8))


@click.group()
def command() -> None:
    """Stories: from an idea to merged work, phase by phase."""


for _other in (board, stats, schema):
    command.add_command(_other)


@command.command("new")
@click.argument("story_id", metavar="ID")
@click.option("--title", required=True, metavar="T", help="What it is about, in one line.")
@click.option("--description", default="", metavar="TEXT", help="More about it.")
@click.option("--criterion", "criteria", multiple=True, metavar="C", help="An acceptance criterion; repeatable.")
@click.option("--depends-on", multiple=True, metavar="ID", help="A story that has to be completed first; repeatable.")
@click.option("--workflow", default="story", show_default=True, metavar="NAME", help="story, hotfix, or one of yours.")
@click.option("--priority", type=click.IntRange(0, 4), default=2, show_default=True, help="0 is most urgent.")
@click.option(
    "--enforcement",
    type=click.Choice(["advisory", "warning", "soft_gate", "hard_gate"]),
    default="warning",
    show_default=True,
    help="What happens at the limit of a token budget.",
)
@click.option("--multiplier", type=click.FloatRange(0.01, 1000), default=1.0, help="Of the token budgets.")
@json_option
@pass_session
def new(session: Session, /, story_id: str, **given: Any) -> None:
    """Add a story and make its folder.

    \b
    Example:
      medbay story new WISH-1 --title "Export as CSV" --criterion "the file opens in a spreadsheet"
    """
    refuse_inside_attempts("medbay story new")
    bay = session.bay()
    _print(session, bay, bay.stories.new(story_id, **given))


def _phase(name: str, about: str) -> None:
    """Add the command of one phase to the group."""

    @click.argument("story_id", metavar="ID")
    @click.option("--force", is_flag=True, help="Start over, whatever is complete already.")
    @click.option("--skip-existing", is_flag=True, help="Skip it when it is complete already, and do not fail.")
    @json_option
    @pass_session
    def run(session: Session, /, story_id: str, force: bool, skip_existing: bool) -> int:
        refuse_inside_attempts(f"medbay story {name}")
        bay = session.bay()
        found = bay.stories.start_phase(story_id, name, force=force, skip_existing=skip_existing)
        return _report(session, bay, found)

    run.__doc__ = about
    command.command(name)(run)


for _name, _about in (
    ("generate", "Let the PM write the story."),
    ("elaborate", "Let QA audit the story before anybody works on it."),
    ("refine", "Let the PM mend what the audit refused."),
    ("split", "Let the PM split a story that is too large."),
    ("implement", "Let the developer implement it; what was begun is resumed."),
    ("fix", "Let the developer mend what a review or QA refused."),
    ("verify", "Let QA verify the result."),
    ("gate", "Let the gate judge the evidence; every criterion needs some."),
):
    _phase(_name, _about)


@command.command("review")
@click.argument("story_id", metavar="ID")
@click.option("--plan", is_flag=True, help="Only say what each reviewer would run.")
@click.option("--force", is_flag=True, help="Run it whatever the status.")
@click.option("--skip-existing", is_flag=True, help="Skip it when it has passed already.")
@json_option
@pass_session
def review(session: Session, story_id: str, plan: bool, force: bool, skip_existing: bool) -> int:
    """Let the reviewers look at it side by side.

    \b
    Example:
      medbay story review WISH-1 --plan
    """
    bay = session.bay()
    stories = bay.stories
    if plan:
        found = stories.review_plan(stories.get(story_id))
        if session.json:
            print_json({role: list(words) if words else None for role, words in found.items()})
            return 0
        for role, words in found.items():
            say(f"{role.ljust(18)} {clean(' '.join(words)) if words else 'nothing found to run: skipped'}")
        return 0
    refuse_inside_attempts("medbay story review")
    return _report(session, bay, stories.start_phase(story_id, "review", force=force, skip_existing=skip_existing))


@command.command("run")
@click.argument("story_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--until", default="", metavar="STATUS", help="Stop at this status.")
@click.option("--force-continue", is_flag=True, help="Release a blocked story first; grants one more review round.")
@click.option("--detach", is_flag=True, help="Let medbay up drive it, and return at once.")
@json_option
@pass_session
def run(session: Session, story_ids: Sequence[str], until: str, force_continue: bool, detach: bool) -> int:
    """Drive stories through their phases until they are done or need a person.

    Exit status 0 when done, 75 when one waits for a person, 1 when one failed.

    \b
    Examples:
      medbay story run WISH-1
      medbay story run WISH-1 --until ready-to-work
    """
    refuse_inside_attempts("medbay story run")
    bay = session.bay()
    stories = bay.stories
    if detach:
        for each in story_ids:
            stories.hand_over(each, until=until, force_continue=force_continue)
        code = 0
    else:
        code = stories.run(story_ids, until=until, force_continue=force_continue)
    found = [_full(bay, each) for each in story_ids]
    if session.json:
        print_json(found[0] if len(found) == 1 else found)
        return code
    for one in found:
        _say(one)
    for story_id, why in stories.conductor.stuck.items():
        note(clean(f"{story_id}: {why}"))
    for each in (line for lines in stories.conductor.wrong.values() for line in lines):
        note(clean(each))
    return code


@command.command("finish")
@click.argument("story_id", metavar="ID")
@json_option
@pass_session
def finish(session: Session, story_id: str) -> None:
    """Merge the branch `medbay/story-ID` of a completed story, where it has one."""
    refuse_inside_attempts("medbay story finish")
    bay = session.bay()
    _print(session, bay, bay.stories.finish(story_id))


@command.command("update")
@click.argument("story_id", metavar="ID")
@click.argument("status")
@click.option("--reason", default="by a person", metavar="TEXT")
@json_option
@pass_session
def update(session: Session, story_id: str, status: str, reason: str) -> None:
    """Set the status of a story, where its lifecycle allows it."""
    refuse_inside_attempts("medbay story update")
    bay = session.bay()
    _print(session, bay, bay.stories.update(story_id, status, reason))


@command.command("block")
@click.argument("story_id", metavar="ID")
@click.option("--reason", required=True, metavar="TEXT", help="What it waits for.")
@json_option
@pass_session
def block(session: Session, story_id: str, reason: str) -> None:
    """Keep a story from going on."""
    refuse_inside_attempts("medbay story block")
    bay = session.bay()
    _print(session, bay, bay.stories.block(story_id, reason))


@command.command("unblock")
@click.argument("story_id", metavar="ID")
@click.option("--to", default="", metavar="STATUS", help="Where it goes; by default where it was blocked from.")
@json_option
@pass_session
def unblock(session: Session, story_id: str, to: str) -> None:
    """Let a blocked story go on."""
    refuse_inside_attempts("medbay story unblock")
    bay = session.bay()
    _print(session, bay, bay.stories.unblock(story_id, to=to))


@command.command("cancel")
@click.argument("story_id", metavar="ID")
@click.option("--reason", default="by a person", metavar="TEXT")
@json_option
@pass_session
def cancel(session: Session, story_id: str, reason: str) -> None:
    """End a story for good, with the phase that runs."""
    refuse_inside_attempts("medbay story cancel")
    bay = session.bay()
    _print(session, bay, bay.stories.cancel(story_id, reason))


@command.command("rescope")
@click.argument("story_id", metavar="ID")
@click.option("--criterion", "criteria", multiple=True, metavar="C", help="An acceptance criterion; repeatable.")
@click.option("--title", default=None, metavar="T")
@click.option("--description", default=None, metavar="TEXT")
@json_option
@pass_session
def rescope(
    session: Session, story_id: str, criteria: Sequence[str], title: str | None, description: str | None
) -> None:
    """Change what a story is about; one that was elaborated is elaborated again.

    The work, its evidence and its sessions are kept. A blocked story goes on with it.
    """
    refuse_inside_attempts("medbay story rescope")
    kept = tuple(each for each in criteria if each.strip()) or None
    if kept is None and title is None and description is None:
        raise UsageError("nothing to change was named", hint="--criterion, --title, --description")
    bay = session.bay()
    _print(session, bay, bay.stories.rescope(story_id, criteria=kept, title=title, description=description))


@command.command("sync")
@json_option
@pass_session
def sync(session: Session) -> None:
    """Make the story folders equal to the store, and say what was repaired."""
    refuse_inside_attempts("medbay story sync")
    said = session.bay().stories.sync()
    if session.json:
        print_json(said)
        return
    for each in said or ["every folder is where it should be"]:
        say(clean(each))


@command.command("list")
@click.option("--status", "statuses", multiple=True, metavar="STATUS", help="Only these; repeatable.")
@json_option
@pass_session
def list_(session: Session, statuses: Sequence[str]) -> None:
    """List the stories, the oldest first."""
    from medbay.views import story as view

    bay = session.bay()
    found = [view.as_json(each, view.directory_of(each, made)) for each, made in bay.stories.listed(status=statuses)]
    if session.json:
        print_json(found)
        return
    if not found and not statuses:
        note(NO_STORIES)
    shown = screen()
    rows = [[Cell(each["id"]), Cell(each["status"]), Cell(clean(each["title"]))] for each in found]
    if shown.terminal:
        for line in render(rows, _LISTED, shown):
            say(line)
        return
    for each in found:
        say(f"{each['id'].ljust(16)} {each['status'].ljust(22)} {clean(each['title'])}")


@command.command("show")
@click.argument("story_id", metavar="ID")
@json_option
@pass_session
def show(session: Session, story_id: str) -> None:
    """Everything about one story."""
    print_story(session, session.bay(), story_id)


def print_story(session: Session, bay: Bay, story_id: str) -> None:
    """Print one story in full."""
    found = _full(bay, story_id)
    if session.json:
        print_json(found)
    else:
        _say(found)


def explain_story(session: Session, bay: Bay, story_id: str) -> None:
    """Say why a story is where it is."""
    from medbay.views import story as view

    stories = bay.stories
    found = stories.detail(story_id)
    case = stories.conductor.case(found.story.id)
    said = view.explanation(case, found.held_by, found.questions)
    if session.json:
        print_json({"id": found.story.id, "status": found.story.status, "why": said, "waits_for": list(found.held_by)})
        return
    for each in said:
        say(each)


def task_of(bay: Bay, given: str) -> Task:
    """The task that is meant: by its own id, or the newest of a story's."""
    try:
        return bay.get(given)
    except NotFound:
        if not bay.stories.exists(given):
            raise
        runs = [each for each in bay.stories.detail(given).runs if each.parts]
        if not runs:
            raise NotFound(f"no phase of {given} has run yet", hint=f"medbay story run {given}") from None
        return bay.get(runs[-1].parts[-1].task_id)


def on_stories(session: Session, ids: Sequence[str], act: Callable[[Stories, str], Story]) -> bool:
    """Do something to stories where all that is named are some; False where none is."""
    bay = session.bay()
    if not ids:
        return False
    found = [each for each in ids if not bay.ids_like(each, 1) and bay.stories.exists(each)]
    if not found:
        return False
    if len(found) != len(ids):
        raise UsageError("stories and tasks cannot be named together", hint="two commands, one for each")
    refuse_inside_attempts("what a person does to stories")
    made = [act(bay.stories, each) for each in found]
    if session.json:
        print_json([_full(bay, each.id) for each in made])
        return True
    for story in made:
        _print(session, bay, story)
    return True


def _full(bay: Bay, story_id: str) -> dict[str, Any]:
    from medbay.views import story as view

    stories = bay.stories
    found = stories.detail(story_id)
    return view.in_full(
        found.story,
        found.workflow,
        found.runs,
        found.decisions,
        found.questions,
        held_by=found.held_by,
        artifacts=stories.artifacts(found.story),
    )


def _say(found: dict[str, Any]) -> None:
    from medbay.views import story as view

    shown = screen()
    for line in view.lines(found, shown.width if shown.terminal else None):
        say(line)


def _print(session: Session, bay: Bay, story: Story) -> None:
    """What a command left, in one line or as JSON."""
    if session.json:
        print_json(_full(bay, story.id))
    else:
        say(f"{story.id}  {story.status}  {clean(story.reason)}".rstrip())


def _report(session: Session, bay: Bay, found: PhaseResult) -> int:
    """How a phase ended; its exit status."""
    if found.skipped:
        if session.json:
            print_json({**_full(bay, found.story.id), "skipped": found.skipped})
        else:
            say(found.skipped)
        return 0
    if session.json:
        print_json(_full(bay, found.story.id))
    elif found.run is not None:
        verdict = found.run.verdict or found.run.status
        say(f"{found.story.id}  {found.run.phase} {verdict}: now {found.story.status}")
        if found.why:
            note(clean(found.why))
    return found.code

"""Stories: made, started phase by phase or driven as a whole, watched, and decided about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from medbay import app
from medbay.areas import story_sync
from medbay.areas.conductor import Conductor, private_queue
from medbay.config import workflows
from medbay.config.workflows import WorkflowFile
from medbay.core.decision import Decision
from medbay.core.model import DEFAULT_QUEUE, Question
from medbay.core.workflow import story as rules
from medbay.core.workflow.phase import StoryCase
from medbay.core.workflow.records import PhaseRun, Story
from medbay.core.workflow.workflow import Workflow
from medbay.errors import NotAllowed, UsageError
from medbay.integrations.story_folder import PhaseInProgress
from medbay.service import stories
from medbay.service.stories import StoryDetail
from medbay.store import attempts, workers
from medbay.store import stories as rows
from medbay.store.apply import apply
from medbay.store.database import Tx

if TYPE_CHECKING:
    from medbay.bay import Bay

ROUND_S: Final = 0.05
POLL_S: Final = 0.3
DONE: Final = 0
FAILED: Final = 1
WAITS: Final = 75


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseResult:
    """What a command about a phase did: skipped it with these words, or ran it."""

    story: Story
    skipped: str = ""
    run: PhaseRun | None = None
    code: int = DONE
    why: str = ""


class Stories:
    """Everything about stories."""

    def __init__(self, bay: Bay) -> None:
        self._bay = bay
        self.conductor = Conductor(bay)

    # Workflows

    @property
    def workflow_folder(self) -> Path | None:
        """Where workflows of a user's own are."""
        config = self._bay.place.config
        return config.folder / config.story.workflows if config.folder is not None else None

    def workflow(self, name: str) -> WorkflowFile:
        """A workflow by its name."""
        return workflows.find(name, self.workflow_folder)

    # Making and looking

    def new(
        self,
        story_id: str,
        *,
        title: str,
        description: str = "",
        criteria: Sequence[str] = (),
        depends_on: Sequence[str] = (),
        workflow: str = "story",
        **more: Any,
    ) -> Story:
        """Add a story; its folder is made with it."""
        about: dict[str, Any] = {"description": description, "criteria": criteria, "depends_on": depends_on}
        made, definition = self.prepared(story_id, title=title, workflow=workflow, **about, **more)
        added = self._bay.write(
            lambda tx: stories.create(tx, rules.begun(made, tx.now), definition, actor=self._bay.actor)
        )
        self.settle_files(added.id)
        return self.get(added.id)

    def prepared(
        self,
        story_id: str,
        *,
        title: str,
        description: str = "",
        criteria: Sequence[str] = (),
        depends_on: Sequence[str] = (),
        workflow: str = "story",
        **more: Any,
    ) -> tuple[Story, tuple[str, str]]:
        """A story as it will be added, and its workflow."""
        config = self._bay.place.config
        home = config.folder or self._bay.place.folder.parent
        found = self.workflow(workflow)
        if found.workflow.machine.name == "task":
            raise UsageError("the workflow task is for plain tasks", hint="medbay add makes one")
        made = Story(
            id=rules.checked_id(story_id),
            title=rules.clean_title(title),
            description=description,
            workflow=found.workflow.name,
            definition=found.hash,
            criteria=rules.clean_criteria(criteria),
            depends_on=tuple(dict.fromkeys(depends_on)),
            root=str((home / config.story.root).absolute()),
            project=str(home.absolute()),
            has_review=found.workflow.has_review,
            status=found.workflow.machine.initial,
            created_by=self._bay.actor,
            **more,
        )
        return made, (found.hash, found.text)

    def get(self, story_id: str) -> Story:
        """One story."""
        with self._bay.store.read() as tx:
            return stories.resolve(tx, story_id)

    def exists(self, story_id: str) -> bool:
        """Whether a story has exactly this id."""
        with self._bay.store.read() as tx:
            return stories.exists(tx, story_id)

    def detail(self, story_id: str) -> StoryDetail:
        """Everything about one story."""
        with self._bay.store.read() as tx:
            return stories.detail(tx, story_id)

    def listed(self, *, status: Sequence[str] = ()) -> list[tuple[Story, Workflow]]:
        """The stories with their workflows, the oldest first."""
        with self._bay.store.read() as tx:
            found = rows.select(tx, status=status)
            known = stories.workflows_of(tx, found)
        return [(each, known[each.definition]) for each in found]

    def artifacts(self, story: Story) -> list[str]:
        """The files in its folder."""
        return self.conductor.folders(story).artifacts(story.id)

    def review_plan(self, story: Story) -> dict[str, tuple[str, ...] | None]:
        """What each reviewer would run for it."""
        phase = next((each for each in self.detail(story.id).workflow.phases if each.workers), None)
        if phase is None:
            return {}
        found = {each.role: each for each in self.conductor.workers(self.conductor.case(story.id), phase)}
        plan = self.conductor.review_plan(story)
        return {
            role: (found[role].command or (found[role].runner,)) if role in found else plan.get(role)
            for role in phase.roles
        }

    # People

    def act(self, story_id: str, rule: Callable[[StoryCase, Sequence[Question], int, str], Decision]) -> Story:
        """Apply a rule to a story as a person, and bring its folder along."""
        actor = self._bay.actor

        def make(tx: Tx) -> Story:
            return stories.decide(tx, story_id, lambda case, asked: rule(case, asked, tx.now, actor))

        made = self._bay.write(make)
        self.settle_files(made.id)
        return self.get(made.id)

    def block(self, story_id: str, reason: str) -> Story:
        """Keep it from going on."""
        return self.act(story_id, lambda case, _, now, actor: rules.on_block(case, reason, now, actor=actor))

    def unblock(self, story_id: str, *, to: str = "") -> Story:
        """Let a blocked story go on, from where it was blocked or from another status that the table allows."""
        return self.act(
            story_id, lambda case, asked, now, actor: rules.on_release(case, now, actor=actor, asked=asked, to=to)
        )

    def cancel(self, story_id: str, why: str = "by a person") -> Story:
        """End it for good, with the phase that runs."""
        made = self.act(
            story_id, lambda case, asked, now, actor: rules.on_cancel(case, now, actor=actor, asked=asked, why=why)
        )
        open_tasks = [part.task_id for run in self.detail(made.id).runs for part in run.parts]
        app.end_cancelled(self._bay.store, self._bay.place, open_tasks)
        return made

    def update(self, story_id: str, status: str, why: str = "by a person") -> Story:
        """Set its status, where the table allows it."""
        return self.act(
            story_id,
            lambda case, asked, now, actor: rules.on_update(case, status, now, actor=actor, asked=asked, why=why),
        )

    def rescope(self, story_id: str, **changes: Any) -> Story:
        """Change what it is about; one that was audited goes back to be audited again, with its work and evidence."""
        return self.act(
            story_id, lambda case, asked, now, actor: rules.on_rescope(case, changes, now, actor=actor, asked=asked)
        )

    def finish(self, story_id: str) -> Story:
        """Merge the branch of a completed story; one without a branch has nothing to merge."""
        found = self.get(story_id)
        if found.merged:
            raise NotAllowed("Already merged.", hint=f"medbay story show {found.id}")
        if found.status != rules.COMPLETED:
            raise NotAllowed(f"{found.id} is {found.status}, and finish starts from {rules.COMPLETED}")
        self.conductor.work.finish(found)
        self.conductor.cycle(only=(found.id,))
        return self.get(found.id)

    def sync(self) -> list[str]:
        """Make the folders equal to the store; what was repaired, in words."""
        return story_sync.sync(self._bay, self.conductor)

    def settle_files(self, story_id: str) -> None:
        """The folder follows at once, unless a phase runs: then it does when that has ended."""
        self.conductor.cycle(only=(story_id,))

    # Phases

    def start_phase(self, story_id: str, name: str, *, force: bool = False, skip_existing: bool = False) -> PhaseResult:
        """Run one phase here, to its end; what is complete already is skipped, refused or run again by its row."""
        case = self.conductor.case(self.get(story_id).id)
        story, wanted = case.story, case.workflow.phase(name)
        if wanted is None:
            known = ", ".join(each.name for each in case.workflow.phases)
            raise NotAllowed(f"the workflow {case.workflow.name} has no phase {name}", hint=f"it has {known}")
        if case.run is not None:
            self._refuse_at_work(case)
            if case.run.phase != name:
                raise NotAllowed("Phase in progress", hint=f"{case.run.phase} of {story.id} has not ended")
            return self._run_phase(case, case.run)
        if rules.is_complete(case, wanted) and not force:
            if wanted.rerun == "skip" or skip_existing:
                return PhaseResult(story=story, skipped=wanted.message or f"{name} is complete.")
            if wanted.rerun == "error":
                raise NotAllowed(wanted.message or f"{name} is complete.", hint=f"{story.id} is {story.status}")
            if wanted.rerun == "resume":
                return PhaseResult(story=story, skipped=_resumed(case, name))
        here = story.status in (*wanted.starts, wanted.running)
        stands = story.status not in (*case.workflow.machine.terminal, rules.BLOCKED)
        again = force or (wanted.rerun == "rerun" and stands)  # what is judged may have changed since
        if not here and not (again and rules.has_run(case, wanted)):
            ways = " or ".join(wanted.starts)
            raise NotAllowed(
                f"{story.id} is {story.status}, and {name} starts from {ways}", hint=f"medbay story show {story.id}"
            )
        command = f"story {name}" + (" --force" if force else "")
        forced = force or not here
        run = self.conductor.start(case, wanted, command=command, queue=private_queue(story.id), forced=forced)
        return self._run_phase(case, run)

    def _run_phase(self, case: StoryCase, run: PhaseRun) -> PhaseResult:
        story_id = case.story.id
        self._drive([story_id], lambda: self._run_at_rest(story_id, run.number))
        found = self.detail(story_id)
        made = next(each for each in found.runs if each.number == run.number)
        code = DONE if made.status == "PASS" else WAITS if found.questions or made.is_open else FAILED
        return PhaseResult(story=found.story, run=made, code=code, why=made.summary)

    def _refuse_at_work(self, case: StoryCase) -> None:
        """Refuse where an engine has the run's tasks, or is about to."""
        with self._bay.store.read() as tx:
            alive = {each.id: each for each in workers.alive(tx) if each.lease_until > tx.now and not app.is_gone(each)}
            for task in case.tasks:
                found = attempts.get(tx, task.id, task.live) if task.live is not None else None
                if found is not None and found.worker_id in alive:
                    raise NotAllowed("Phase in progress", hint=f"{task.title} runs; medbay story show {case.story.id}")
            serving = any(case.story.queue in each.queues for each in alive.values())
        if serving and any(not each.finished for each in case.tasks):
            raise NotAllowed("Phase in progress", hint=f"an engine has it; medbay story show {case.story.id}")

    def run(self, story_ids: Sequence[str], *, until: str = "", force_continue: bool = False) -> int:
        """Drive stories in this process until each is done or needs a person: 0 done, 75 waits for one, 1 failed."""
        ids = [self.get(each).id for each in story_ids]
        for each in ids:
            if self._is_over(each, until):
                continue
            case = self.conductor.case(each)
            if case.run is not None:
                self._refuse_at_work(case)
            if force_continue and case.story.status == "blocked":
                self.unblock(each)
            self._let_go(each, until, private_queue(each))
        watched = _Family(self, ids)
        self._drive(watched, lambda: all(self._at_rest(each, watched.ids, until) for each in watched))
        for each in watched.ids:
            if self.get(each).driven and not self.get(each).run:
                self.act(each, lambda case, _, now, actor: rules.rest(case, now, actor=actor))
        held = [self.conductor.stuck.get(each) for each in watched.ids]
        if isinstance(held[0], PhaseInProgress) and all(held):
            raise held[0]
        return max((self._code(each, until) for each in watched), key=[DONE, FAILED, WAITS].index)

    def hand_over(self, story_id: str, *, until: str = "", force_continue: bool = False) -> Story:
        """Let a daemon drive a story; a blocked one is released first where that is forced."""
        found = self.get(story_id).id
        if force_continue and self.get(found).status == rules.BLOCKED:
            self.unblock(found)
        self._let_go(found, until, DEFAULT_QUEUE)
        return self.get(found)

    def _let_go(self, story_id: str, until: str, queue: str) -> None:
        actor = self._bay.actor
        self._bay.write(
            lambda tx: apply(
                tx, rules.drive(stories.loaded(tx, story_id), tx.now, actor=actor, queue=queue, until=until)
            )
        )

    def _drive(self, ids: Sequence[str], over: Callable[[], bool]) -> None:
        """Run an engine for these stories, with a conductor beside it, until they are at rest."""
        self.conductor.stuck.clear()
        self.conductor.cycle(only=tuple(ids))
        if over():
            return
        daemon = self._bay.daemon(
            queues=tuple(private_queue(each) for each in ids),
            on_round=lambda: self._round(ids),
            round_every_s=ROUND_S,
        )
        daemon.run(until=over)
        self.conductor.cycle(only=tuple(ids))

    def _round(self, ids: Sequence[str]) -> None:
        self.conductor.cycle(only=tuple(ids))

    def _run_at_rest(self, story_id: str, number: int) -> bool:
        """Whether a run has ended and all of it is written, or waits for a person."""
        found = self.detail(story_id)
        run = next(each for each in found.runs if each.number == number)
        if run.is_open:
            return bool(found.tasks) and all(each.finished or each.status == "blocked" for each in found.tasks)
        return not found.story.files_due or story_id in self.conductor.stuck

    def _at_rest(self, story_id: str, ours: Sequence[str], until: str) -> bool:
        """Whether nothing will happen to a story by itself."""
        found = self.detail(story_id)
        story = found.story
        if story.run:
            return bool(found.tasks) and all(each.finished or each.status == "blocked" for each in found.tasks)
        if story_id in self.conductor.stuck:
            return True
        if story.files_due or (story.git.landing and story.status != "blocked"):
            return False
        if self._is_over(story_id, until) or story.status == "blocked" or story.waiting:
            return True
        waits = [each for each in found.held_by if each in ours and not self._at_rest(each, ours, until)]
        return bool(found.held_by) and not waits

    def _is_over(self, story_id: str, until: str) -> bool:
        """Whether a story is at its end, or at the status until which it is driven, or was there before."""
        found = self.detail(story_id)
        if found.story.status in found.workflow.machine.terminal:
            return True
        with self._bay.store.read() as tx:
            return bool(until) and until in rows.passed(tx, found.story.id)

    def _code(self, story_id: str, until: str) -> int:
        found = self.detail(story_id)
        if found.story.status == "cancelled":
            return FAILED
        if self._is_over(story_id, until):
            return DONE
        return WAITS if found.questions or found.story.status == "blocked" or found.story.waiting else FAILED


def _resumed(case: StoryCase, name: str) -> str:
    """What goes on once a phase that is resumed has nothing left to do."""
    following = stories.next_phase(case)
    return f"{name} is complete" + (f"; {following.name} goes on from here." if following is not None else ".")


class _Family(Sequence[str]):
    """The stories that are driven, with the parts that a split makes of them."""

    def __init__(self, area: Stories, ids: Sequence[str]) -> None:
        self._area = area
        self.ids = list(ids)

    def __iter__(self) -> Any:
        for each in list(self.ids):
            self.ids += [part for part in self._area.get(each).parts if part not in self.ids]
        return iter(list(self.ids))

    def __getitem__(self, at: Any) -> Any:
        return self.ids[at]

    def __len__(self) -> int:
        return len(self.ids)

"""What goes on beside the engine for stories: folders follow the store, phases are set up, the next one is started.

Everything is found in the store and done again after a crash; each story is one conductor's at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from medbay.areas import hand_edits
from medbay.areas.story_work import StoryWork
from medbay.core import agent as agents
from medbay.core.model import PRIVATE_QUEUES
from medbay.core.workflow import artifacts, fast_track, learning, phase, prompt, proof
from medbay.core.workflow import story as rules
from medbay.core.workflow.answer import REVIEWER
from medbay.core.workflow.context import LEARNINGS_MAX
from medbay.core.workflow.phase import PhaseWorker, StoryCase
from medbay.core.workflow.records import PhaseRun, Story, StoryGit, StoryRules
from medbay.core.workflow.workflow import Phase
from medbay.errors import MedbayError, NotAllowed, StaleClaim
from medbay.integrations import reviewers, roles
from medbay.integrations.story_context import StoryContext
from medbay.integrations.story_folder import PhaseInProgress, StoryFolders, evidence_hash
from medbay.service import stories
from medbay.store import learnings
from medbay.store import stories as rows
from medbay.store.apply import apply
from medbay.store.database import Tx

if TYPE_CHECKING:
    from medbay.bay import Bay

RENEW_MS: Final = 60_000
EVIDENCE: Final = "evidence"  # what a phase needs: an entry for every criterion, whose hash matches


def private_queue(story_id: str) -> str:
    """The queue of a story that a person's command drives; no daemon serves it."""
    return f"{PRIVATE_QUEUES}story-{story_id}"


class Conductor:
    """Brings the stories of one store forward, as far as that is not an engine's work."""

    def __init__(self, bay: Bay) -> None:
        self._bay = bay
        self.by = bay.ids.store()
        self._renewed: dict[str, int] = {}
        self._looked_at: dict[str, int] = {}  # stories, with the time of their last turn
        self.work = StoryWork(bay)
        self.notes: list[str] = []  # what did not work and stops no story, in words
        self.stuck: dict[str, MedbayError] = {}  # why a driven story cannot start its next phase
        self.taken: list[str] = []  # what the last cycle took over from files that people edited, or cleared away
        self.wrong: dict[str, list[str]] = {}  # what such a file says that could not be taken over, by story

    def cycle(self, only: Collection[str] | None = None) -> list[str]:
        """Do what is to be done, for these stories or for all that no command drives; what went wrong, in words."""
        with self._bay.store.read() as tx:
            found, now = stories.to_conduct(tx, looked_at=self._looked_at), tx.now
        self._looked_at = {each: at for each, at in self._looked_at.items() if now - at < stories.LOOK_MS}
        errors: list[str] = []
        self.taken.clear()
        for each in found:
            mine = each.id in only if only is not None else not each.queue.startswith(PRIVATE_QUEUES)
            if not mine and not (only is None and each.files_due):
                continue
            self._looked_at[each.id] = now
            try:
                self._conduct(each, phases=mine)
            except StaleClaim:  # it moved meanwhile: the next cycle sees it as it is
                continue
            except MedbayError as error:
                self.stuck[each.id] = error
                errors.append(f"{each.id}: {error}")
            errors += self.wrong.get(each.id, ()) if each.files_due else ()
        errors += self.notes
        self.notes = []
        return errors

    def _conduct(self, story: Story, *, phases: bool) -> None:
        if self.work.waits(story):
            return
        with self._leased(story) as mine:
            if not mine:
                return
            self._complete(story.id)
            if story.files_due:  # what is to be merged or reverted is due with the files
                self.work.settle(story.id)
            self.write_files(story.id)
            if phases:
                self._set_up(story.id)
                self._take_back(story.id)
                self._start_next(story.id)

    @contextmanager
    def _leased(self, story: Story) -> Iterator[bool]:
        """The folder of a story is this conductor's for a while."""

        def take(tx: Tx) -> bool:
            return rows.claim_files(tx, story, by=self.by, until=tx.now + stories.LEASE_MS)

        mine = self._bay.write(take)
        try:
            yield mine
        finally:
            if mine:
                self._bay.write(lambda tx: rows.release_files(tx, [story.id], by=self.by))

    def folders(self, story: Story) -> StoryFolders:
        """The folders a story's is among."""
        return StoryFolders(Path(story.root))

    def case(self, story_id: str) -> StoryCase:
        """A story as it is now."""
        with self._bay.store.read() as tx:
            return stories.loaded(tx, story_id)

    # Completion: what ended runs left is counted, hashed and written

    def _complete(self, story_id: str) -> None:
        case = self.case(story_id)
        ended = [each for each in case.runs if each.completed_at is None]
        if not ended:
            return
        story = case.story
        resolved = self.work.complete(case, ended)
        where = self.work.directory(story)
        folder = self.folders(story).find(story.id)
        parts = [part for each in ended for part in each.parts]
        shown = {str(each["path"]) for part in parts for each in part.result.get(EVIDENCE, ())}
        hashes = {path: evidence_hash(where, path, folder) for path in shown if path}

        def settle(tx: Tx) -> None:
            now = stories.loaded(tx, story_id)
            runs = [stories.counted(tx, each) for each in now.runs if each.completed_at is None]
            kept = now.story
            for each in runs:
                kept = rules.with_evidence(kept, each, hashes)
                for taught in learning.learned_from(each, now.workflow):
                    learnings.save(tx, taught)
            apply(tx, rules.completed(now, runs, kept.evidence, tx.now, resolved=resolved))

        self._bay.write(settle)

    def write_files(self, story_id: str) -> None:
        """Bring the folder to what the store says: hand edits are read first, then it is moved and written."""
        case = self.case(story_id)
        if not case.story.files_due:
            self._renew(case)
            return
        folders = self.folders(case.story)
        edited = folders.hand_edit(case.story)
        self.wrong.pop(story_id, None)
        if edited is not None:
            taken, self.wrong[story_id] = hand_edits.take_over(self._bay, case, edited)
            self.taken += taken
            case = self.case(story_id)
        story = case.story
        directory = self.put_files(case, folders)
        self.commit(story)
        if not self.work.waits(story):  # else they stay due: it is looked at again
            self._bay.write(lambda tx: rows.files_written(tx, [(story, directory)]))

    def commit(self, story: Story) -> None:
        """Commit the folders of stories where that is configured; what git cannot now, the next change commits too."""
        try:
            self.work.commit_folder(story)
        except MedbayError as error:
            self.notes.append(f"{story.id}: its folder is not committed: {error}")

    def put_files(self, case: StoryCase, folders: StoryFolders) -> str:
        """Put the folder of a story where it belongs and write it; in which directory it is then.

        `folders` are those in which edits by hand were looked for: one that came after that is not written over.
        """
        story, run = case.story, case.run
        running = run.phase if run is not None and run.status == "RUNNING" else ""
        self.work.mark_root(story)
        folder = folders.place(story, case.workflow.machine, running=running)
        self.taken += [
            f"{story.id}: {each}, left by a process that died, was removed" for each in folders.clear(folder)
        ]
        runs = (*case.runs, *((run,) if run is not None else ()))
        folders.write(story, artifacts.files_of(story, runs, case.decisions, case.workflow), folder)
        for each in case.runs:
            folders.unlock(folder, run=_key(each))
        return case.workflow.machine.places.get(story.status, "") if not running else story.directory

    def _renew(self, case: StoryCase) -> None:
        """A phase that runs keeps its lock fresh."""
        run, now = case.run, self._bay.now()
        if run is None or run.status != "RUNNING" or now - self._renewed.get(case.story.id, 0) < RENEW_MS:
            return
        self._renewed[case.story.id] = now
        folders = self.folders(case.story)
        if (folder := folders.find(case.story.id)) is not None:
            folders.renew(folder, run=_key(run), now_ms=now)

    # Setup

    def _set_up(self, story_id: str) -> None:
        """Make what the tasks of an open run need, then let them be claimed."""
        case = self.case(story_id)
        run, story = case.run, case.story
        if run is None or run.status != "SETUP" or story.files_due:
            return
        folders, wanted = self.folders(story), case.workflow.phase(run.phase)
        assert wanted is not None
        folder = folders.place(story, case.workflow.machine)
        folders.lock(folder, phase=run.phase, command=run.command, run=_key(run), now_ms=self._bay.now())
        git, missing = self._prepared(case, run, wanted)
        if git is not None:
            case = replace(case, story=replace(story, git=git))
        unproven = "" if missing else self.unproven(case, wanted)
        if why := missing or unproven:
            refuse = partial(phase.refuse, why=why, verdict="FAIL" if unproven else "ERROR")
            self._bay.write(lambda tx: apply(tx, refuse(stories.loaded(tx, story_id), now=tx.now)))
            return
        folders.set_aside(folder, wanted.artifact)
        context, told = self._context(case, run, folder)
        self._bay.write(
            lambda tx: apply(
                tx, phase.set_up(stories.loaded(tx, story_id), context, told, str(folder), tx.now, git=git)
            )
        )

    def _prepared(self, case: StoryCase, run: PhaseRun, wanted: Phase) -> tuple[StoryGit | None, str]:
        """Where a run works, if not in the project, and why that cannot be made."""
        try:
            return self.work.prepare(case, run, wanted), ""
        except MedbayError as error:
            return None, f"its worktree cannot be made: {error}"

    def _take_back(self, story_id: str) -> None:
        """Tasks that a command which died left in another queue are taken back."""
        case = self.case(story_id)
        queue = case.story.queue
        if any(not each.finished and each.live is None and each.queue != queue for each in case.tasks):
            take = partial(rules.queued, queue=queue, actor=phase.ACTOR)
            self._bay.write(lambda tx: apply(tx, take(stories.loaded(tx, story_id), now=tx.now)))

    def unproven(self, case: StoryCase, wanted: Phase) -> str:
        """The criteria that nothing shows any more, where a phase needs them shown; empty where all are."""
        if EVIDENCE not in wanted.needs:
            return ""
        story = case.story
        folder = self.folders(story).find(story.id)
        paths = {each.path for each in story.evidence}
        where = self.work.directory(story)
        hashes = {path: evidence_hash(where, path, folder) if path else "" for path in paths}
        return proof.refusal(proof.judged(story.criteria, story.evidence, hashes))

    def _context(self, case: StoryCase, run: PhaseRun, folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
        """What a run is handed as JSON, and what each role that is an agent is told."""
        story, config = case.story, self._bay.place.config
        own = config.folder / config.story.roles if config.folder is not None else None
        source = StoryContext(self._bay.place.folder / "cache", self.work.directory(story), own)
        with self._bay.store.read() as tx:
            taught = {each.role: learnings.of_role(tx, each.role, LEARNINGS_MAX) for each in run.parts}
        learned = {role: tuple(each.text for each in found) for role, found in taught.items()}
        context = rules.context_of(case, run, str(folder))
        told, pieces = {}, {}
        for each in run.parts:
            made = source.pieces(
                each.role, story=story, runs=case.runs, learnings=learned[each.role], now_ms=self._bay.now()
            )
            pieces[each.role] = made
            told[each.role] = prompt.told(story, made, context)
        context["context"] = pieces
        context["learnings"] = sorted({text for texts in learned.values() for text in texts})
        context["instructions"] = {each.role: roles.instructions(own, each.role) for each in run.parts}
        return context, told

    # Starting

    def _start_next(self, story_id: str) -> None:
        """Start the next phase of a story that is driven, once nothing is left to be written or answered."""
        case = self.case(story_id)
        story = case.story
        wanted = stories.next_phase(case)
        busy = story.run or story.waiting or story.files_due or story.git.landing
        at_rest = busy or story.status in (story.until, "blocked")
        if not story.driven or at_rest or wanted is None:
            return
        with self._bay.store.read() as tx:
            if rules.held_by(story, case.workflow, rows.statuses(tx, story.depends_on)):
                return
        if self._fast_tracks(case, wanted):
            return
        try:
            self.start(case, wanted, command=f"story {wanted.name}", queue=story.queue)
        except (StaleClaim, PhaseInProgress):  # it is looked at again
            raise
        except NotAllowed as error:
            if story.queue.startswith(PRIVATE_QUEUES):  # who drives it is told
                raise
            why, version = str(error), story.version
            self._bay.write(
                lambda tx: apply(
                    tx, rules.cannot_start(stories.as_it_was(tx, story_id, version), wanted.name, why, tx.now)
                )
            )

    def _fast_tracks(self, case: StoryCase, wanted: Phase) -> bool:
        """Whether a story with few criteria needs no audit now: it passed by rule, or a person is asked first."""
        setting, story_id = self._bay.place.config.story.fast_track, case.story.id
        if not fast_track.applies(case, wanted, setting):
            return False

        def decide(tx: Tx) -> bool:
            now = stories.loaded(tx, story_id)
            chosen = fast_track.chosen(now, setting)
            if chosen is None:
                apply(tx, fast_track.ask(now, wanted, tx.now))
                return True
            rule = fast_track.audit if chosen.answer == fast_track.AUDIT else fast_track.skip
            apply(tx, rule(now, wanted, chosen, tx.now))
            return rule is fast_track.skip

        return self._bay.write(decide)

    def start(self, case: StoryCase, wanted: Phase, *, command: str, queue: str, forced: bool = False) -> PhaseRun:
        """Start a run; raises NotAllowed with everything that is missing."""
        story = case.story
        missing = self.missing(case, wanted)
        if missing:
            raise NotAllowed(
                f"{wanted.name} of {story.id} cannot start: {'; '.join(missing)}", hint="see to these first"
            )
        folders = self.folders(story)
        folder = folders.place(story, case.workflow.machine)
        key = f"{story.id}/{story.runs + 1}"
        folders.lock(folder, phase=wanted.name, command=command, run=key, now_ms=self._bay.now())
        made = self._bay.write(
            lambda tx: stories.start(
                tx,
                story,
                wanted.name,
                self.workers(case, wanted),
                self.rules(forced=forced),
                actor=self._bay.actor,
                command=command,
                queue=queue,
            )
        )
        self.stuck.pop(story.id, None)
        return made

    def rules(self, *, forced: bool = False) -> StoryRules:
        """How runs are judged, by the configuration."""
        chosen = self._bay.place.config.story
        return StoryRules(
            threshold=chosen.partial_pass_threshold,
            fail_fast=chosen.fail_fast,
            max_rounds=chosen.max_review_rounds,
            on_pass=chosen.on_pass,
            breaks_at=self._bay.place.config.limits.phase_failures,
            forced=forced,
        )

    def missing(self, case: StoryCase, wanted: Phase) -> list[str]:
        """Everything a phase needs and does not have, each in words."""
        story = case.story
        found = [f"the role {role} has no agent and no command: [roles.{role}]" for role in self._unmanned(wanted)]
        if not self.workers(case, wanted) and not found:
            found.append(f"nobody does {wanted.name}: no reviewer was found in {story.project}")
        with self._bay.store.read() as tx:
            held = rules.held_by(story, case.workflow, rows.statuses(tx, story.depends_on))
        found += [f"it depends on {each}, which is not completed" for each in held]
        if story.waiting:
            found.append("a decision is open: medbay decide")
        have = set(self.folders(story).artifacts(story.id))
        needed = [each for each in wanted.needs if each != EVIDENCE]
        found += [f"there is no {each}" for each in needed if not {each, f"_implementation/{each}"} & have]
        return found

    def workers(self, case: StoryCase, wanted: Phase) -> list[PhaseWorker]:
        """Who works on a phase, and on the one that runs beside it."""
        both = [wanted, *filter(None, [case.workflow.phase(wanted.beside) if wanted.beside else None])]
        plan = self.review_plan(case.story) if any(each.workers for each in both) else {}
        made = [self._worker(role, each, plan) for each in both for role in each.roles]
        return [each for each in made if each is not None]

    def review_plan(self, story: Story) -> dict[str, tuple[str, ...] | None]:
        """What each reviewer finds to run where the story is worked on; tools may be beside the project."""
        return reviewers.plan(self.work.directory(story), Path(story.project))

    def _unmanned(self, wanted: Phase) -> list[str]:
        return [
            role for role in wanted.roles if not role.startswith(REVIEWER) and role not in self._bay.place.config.roles
        ]

    def _worker(self, role: str, wanted: Phase, plan: Mapping[str, tuple[str, ...] | None]) -> PhaseWorker | None:
        """How a role works: as it is configured, a reviewer else by what the project has."""
        config = self._bay.place.config
        mine = config.roles.get(role)
        timeout = config.story.worker_timeout_ms if role.startswith(REVIEWER) else config.story.phase_timeout_ms
        make: Callable[..., PhaseWorker] = partial(
            PhaseWorker,
            role=role,
            phase=wanted.name,
            required=role in wanted.required,
            timeout_ms=timeout if mine is None else mine.timeout_ms or timeout,
            fallback=config.located(mine.fallback) if mine is not None else (),
        )
        if mine is None:
            command = plan.get(role)
            return make(command=command) if command else None
        if mine.command:
            return make(command=config.located(mine.command))
        profile = agents.find(self._bay.profiles, mine.agent)
        return make(runner=agents.runner_of(mine.agent), resources=profile.resources)


def _key(run: PhaseRun) -> str:
    return f"{run.story_id}/{run.number}"

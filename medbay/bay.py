"""The library: `open()` gives a Bay, and everything the CLI, the page and MCP do is one call on it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from medbay import app, env
from medbay.app import StoreLocation
from medbay.areas import Area, later
from medbay.core.policy.policy import Policy
from medbay.env import Clock, Ids, SystemClock
from medbay.errors import NotAllowed, StoreBusy
from medbay.store import activity, attempts, breakers, checks, history, meta, questions, retries, triages
from medbay.store import tasks as task_rows
from medbay.store import workers as worker_rows
from medbay.store.tasks import TaskFilter

if TYPE_CHECKING:
    from medbay import wiring
    from medbay.areas.agents import Agents
    from medbay.areas.board import Board
    from medbay.areas.branches import Branches
    from medbay.areas.intake import Intake
    from medbay.areas.links import Links
    from medbay.areas.notifications import Notifications
    from medbay.areas.page import Page
    from medbay.areas.pull_requests import PullRequests
    from medbay.areas.statistics import Statistics
    from medbay.areas.stories import Stories
    from medbay.areas.tokens import Tokens
    from medbay.areas.trackers import Trackers
    from medbay.core.attempt.knowledge import Known
    from medbay.core.delivery import ChannelState
    from medbay.core.holds.breaker import Breaker
    from medbay.core.jobs import JobChange, JobFile
    from medbay.core.lifecycles import BlockKind
    from medbay.core.model import Attempt, CheckResult, Event, Question, Task, Worker
    from medbay.core.outcome import Output
    from medbay.core.people.preference import Preference
    from medbay.core.policy.learning import Learned
    from medbay.core.policy.replay import PolicyScore
    from medbay.core.snapshot import (
        Explanation,
        Graph,
        IncidentDetail,
        ObservedWorker,
        StoreReport,
        TaskDetail,
        TaskList,
    )
    from medbay.core.triage.cycle import Cycle
    from medbay.engine import cycle
    from medbay.engine.daemon import Daemon
    from medbay.places import scripts
    from medbay.runners.agent.profiles import KnownProfiles
    from medbay.service import breakers as breaker_service
    from medbay.service import (
        bulk,
        calls,
        dependencies,
        exchange,
        jobs,
        learning,
        liveness,
        requests,
        schedules,
        series,
        tasks,
        teaching,
        upkeep,
    )
    from medbay.service import deliveries as delivery_service
    from medbay.service import detail as details
    from medbay.service import explain as explaining
    from medbay.service import graph as graphs
    from medbay.service import listing as listings
    from medbay.service import workers as worker_service
    from medbay.service.bulk import Bulk
    from medbay.service.listing import ListQuery
    from medbay.service.series import Series
    from medbay.service.tasks import Action
    from medbay.service.teaching import Reclassified
    from medbay.store import patterns
    from medbay.store.database import KeptStore, Tx
    from medbay.store.patterns import PatternFilter
    from medbay.views import exchange as export_lines
    from medbay.views import task as task_views
else:
    wiring, cycle, scripts, patterns, export_lines, task_views = later(
        "wiring", "engine.cycle", "places.scripts", "store.patterns", "views.exchange", "views.task"
    )
    bulk, calls, dependencies, exchange, jobs, learning, liveness, requests, schedules, series = later(
        *"bulk calls dependencies exchange jobs learning liveness requests schedules series".split(), of="service."
    )
    tasks, teaching, upkeep, breaker_service, delivery_service, details, explaining, graphs, listings = later(
        *"tasks teaching upkeep breakers deliveries detail explain graph listing".split(), of="service."
    )
    (worker_service,) = later("service.workers")

T = TypeVar("T")

ATTEMPTS_SHOWN: Final = 50
_BUSY_TRIES: Final = 5


def open_bay(
    url: str | None = None,
    *,
    cwd: Path | str | None = None,
    create: bool = True,
    trust: bool = False,
    trust_file: bool = False,
    actor: str = "",
) -> Bay:
    """Open a store: `sqlite:///work.db`, or without a URL the one found upward from here.

    `trust` takes over a store of another machine or user, `trust_file` agrees to what its medbay.toml sets.
    """
    place = app.find_place(Path(cwd or os.getcwd()), store_url=url, environ=os.environ, trust_file=trust_file)
    return Bay(place, create=create, trust=trust, actor=actor)


class Bay:
    """A store and everything that can be done with it. Use it in one thread; close it when done."""

    branches: Area[Branches] = Area("branches", "Branches")
    page: Area[Page] = Area("page", "Page")
    statistics: Area[Statistics] = Area("statistics", "Statistics")
    tokens: Area[Tokens] = Area("tokens", "Tokens")
    notifications: Area[Notifications] = Area("notifications", "Notifications")
    trackers: Area[Trackers] = Area("trackers", "Trackers")
    links: Area[Links] = Area("links", "Links")
    intake: Area[Intake] = Area("intake", "Intake")
    agents: Area[Agents] = Area("agents", "Agents")
    stories: Area[Stories] = Area("stories", "Stories")
    board: Area[Board] = Area("board", "Board")
    pulls: Area[PullRequests] = Area("pull_requests", "PullRequests")
    _series: cached_property[Series] = cached_property(lambda bay: series.Series(bay.ids, bay.profiles))
    profiles: cached_property[KnownProfiles] = cached_property(lambda bay: app.agents_of(bay.place.config))

    def __init__(
        self,
        place: StoreLocation,
        *,
        clock: Clock | None = None,
        create: bool = True,
        trust: bool = False,
        actor: str = "",
    ) -> None:
        self.place = place
        self.policy: Policy = app.policy_of(place.config)
        self.actor = actor or f"person:{env.user_name()}"
        self._clock: Clock = clock or SystemClock()
        self.ids = Ids()
        self.store: KeptStore = app.open_store(place, self._clock, create=create, trusted=trust)

    def __enter__(self) -> Bay:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the store back."""
        self.store.close()

    # Adding

    def add(self, title: str, *, run: list[str] | tuple[str, ...] | str | None = None, **options: Any) -> Task:
        """Add a task: `run` is a list of words, or a string for the shell; options are those of `medbay add`.

        In place of `run`: `python="module:function"` with `args`, `isolated=True`; `agent="NAME"`; `person=True`.
        """
        given, defaults = {"title": title, "run": run, **options}, app.defaults_of(self.place.config)
        by: dict[str, Any] = {"actor": self.actor, "assess": self.place.config.policy.assess}
        return self.write(lambda tx: self._series.add(tx, given, defaults=defaults, **by))

    def add_many(self, lines: Iterable[Mapping[str, Any]]) -> list[Task]:
        """Add several in one transaction, all or none; a bad one names itself."""
        seen: list[Mapping[str, Any]] = []
        unseen = iter(lines)  # taken one by one: the caller knows by that which one was refused
        known = lines if isinstance(lines, Sequence) else seen
        by: dict[str, Any] = {"ids": self.ids, "actor": self.actor, "agents": self.profiles}
        by |= {"defaults": app.defaults_of(self.place.config), "assess": self.place.config.policy.assess}
        return self.write(lambda tx: exchange.add_lines(tx, exchange.again(seen, unseen), known, **by))

    def import_lines(
        self, lines: Sequence[tuple[int, Mapping[str, Any]]], *, key: str = "", everything: bool = False
    ) -> tuple[list[Task], int]:
        """Add the tasks of an export, all or none; the tasks, and how many lines had ended and were left out.

        Each line comes with its number. With a `key` the same lines a second time add nothing.
        """
        by: dict[str, Any] = {"ids": self.ids, "actor": self.actor, "agents": self.profiles, "key": key}
        return self.write(lambda tx: exchange.bring_in(tx, lines, everything=everything, cwd=os.getcwd(), **by))

    def apply_jobs(self, file: JobFile, *, dry_run: bool = False, **how: bool) -> list[JobChange]:
        """Bring the store to what a file of jobs says, or say what would change; `how` are flags of `JobWriter`."""
        shell = app.shell_of(self.place.config)
        by = jobs.JobWriter(ids=self.ids, actor=self.actor, agents=self.profiles, shell=shell, dry_run=dry_run, **how)
        made = self.write(lambda tx: jobs.apply_file(tx, file, by))
        if cancelled := [each.task_id for each in made if each.action == "cancel" and not dry_run]:
            wiring.end_cancelled(self.store, self.place, cancelled)
        return made

    # Looking

    def get(self, task_id: str) -> Task:
        """One task by its id or an unambiguous prefix of it."""
        return self._read(lambda tx: tasks.resolve(tx, task_id))

    def titles(self, task_ids: Iterable[str]) -> dict[str, str]:
        """The titles of many tasks by their ids."""
        return self._read(lambda tx: task_rows.titles(tx, sorted(task_ids)))

    def triages_among(self, task_ids: Iterable[str]) -> set[str]:
        """Those of these tasks that are triages."""
        return self._read(lambda tx: task_rows.with_role(tx, sorted(task_ids), "triage"))

    def ids_like(self, prefix: str, limit: int = 50) -> list[str]:
        """The ids that begin like this."""
        return self._read(lambda tx: task_rows.ids_with_prefix(tx, prefix, limit))

    def select(self, wanted: TaskFilter | None = None) -> list[Task]:
        """Tasks, what changed last first unless the filter says otherwise."""
        return self._read(lambda tx: task_rows.select(tx, wanted or TaskFilter()))

    def count(self, wanted: TaskFilter | None = None) -> int:
        """How many tasks there are like this, whatever the limit of the filter."""
        return self._read(lambda tx: task_rows.count(tx, wanted or TaskFilter()))

    def export(self, wanted: TaskFilter | None = None) -> list[dict[str, Any]]:
        """Tasks under the names of `add`, with their id and status, oldest first: what `import_lines` takes."""
        with self.store.read() as tx:
            return [export_lines.as_line(task, after) for task, after in exchange.export(tx, wanted or TaskFilter())]

    def counts(self) -> dict[str, int]:
        """How many tasks have each status."""
        return self._read(lambda tx: task_rows.count_by_status(tx))

    def open_counts(self) -> dict[str, int]:
        """How many tasks have each status that is not an end, however many have ended."""
        return self._read(lambda tx: task_rows.count_open(tx))

    def show(self, task_id: str) -> dict[str, Any]:
        """Everything about one task, in the documented JSON shape."""
        return task_views.detail(self.detail(task_id))

    def detail(self, task_id: str) -> TaskDetail:
        """Everything that is recorded about one task."""
        config = self.place.config
        with self.store.read() as tx:
            return details.load(
                tx,
                tasks.resolve(tx, task_id),
                rules=self.policy.recurring,
                recovery_share=config.engine.slots_for_recovery,
                queue_slots=config.queue_slots,
                rescue_threshold=config.triage.rescue_threshold,
            )

    def listing(self, query: ListQuery) -> TaskList:
        """The tasks of a list in their order, with what is shown next to them."""
        config = self.place.config
        share = config.engine.slots_for_recovery
        return self._read(lambda tx: listings.load(tx, query, recovery_share=share, queue_slots=config.queue_slots))

    def attempts(self, task_id: str, limit: int = ATTEMPTS_SHOWN) -> list[Attempt]:
        """The newest attempts of a task, in their order."""
        return self._read(lambda tx: attempts.of_task(tx, tasks.resolve(tx, task_id).id, limit))

    def output(self, task_id: str, number: int) -> Output | None:
        """The ends of an attempt's log, as the store keeps them."""
        return self._read(lambda tx: attempts.output(tx, task_id, number))

    def checks(self, task_id: str, since: int = 0) -> dict[int, list[CheckResult]]:
        """The checks of a task's attempts from a number on, by the number of the attempt."""
        return self._read(lambda tx: checks.of_task(tx, tasks.resolve(tx, task_id).id, since=since))

    def result(self, task_id: str) -> Any:
        """What the last successful attempt returned; raises NotFound when there was none."""
        return self._read(lambda tx: calls.value_of(tx, tasks.resolve(tx, task_id)))

    def explain(self, task_id: str) -> Explanation:
        """Why it is where it is, what happens next and when, what would change that."""
        with self.store.read() as tx:
            config, task = self.place.config, tasks.resolve(tx, task_id)
            share, rescue = config.engine.slots_for_recovery, config.triage.rescue_threshold
            hears = scripts.takes_advice(task, self.place.folder.parent)
            how = partial(explaining.explain, recovery_share=share, rescue_threshold=rescue, takes_advice=hears)
            found = how(tx, task, self.policy, queue_slots=config.queue_slots)
        gone = found.engine is not None and app.is_gone(found.engine)
        return explaining.without_engine(found) if gone else found

    def graph(self, task_id: str | None = None, *, everything: bool = False, limit: int = 500) -> Graph:
        """What comes after what: around one task, or everything that waits for another."""
        with self.store.read() as tx:
            if task_id is not None:
                return graphs.around(tx, tasks.resolve(tx, task_id), limit=limit)
            return graphs.whole(tx, everything=everything, limit=limit)

    def waits_for(self, task_id: str) -> list[str]:
        """The ids of what a task comes after and is not completed."""
        with self.store.read() as tx:
            return [other for other, status in task_rows.comes_after(tx, task_id) if status != "completed"]

    def events(self, since: int = 0, *, limit: int = 1_000, task_id: str | None = None) -> list[Event]:
        """Events after a sequence number; resume from the last one and nothing is missed."""
        return self._read(lambda tx: history.events_since(tx, since, limit=limit, task_id=task_id))

    def last_seq(self) -> int:
        """The newest sequence number."""
        return self._read(lambda tx: history.last_event_seq(tx))

    def workers(self) -> list[tuple[Worker, int]]:
        """The engines on this store that are not given up, with how many attempts each is running."""
        with self.store.read() as tx:
            live = activity.live_by_worker(tx)
            return [(each, live.get(each.id, 0)) for each in worker_rows.alive(tx)]

    def pending_retries(self, limit: int = 5) -> tuple[int, list[tuple[Task, int]]]:
        """How many retries are pending, and the next few with their time."""
        with self.store.read() as tx:
            soon = [(task_rows.get(tx, each.task_id), each.due_at) for each in retries.pending(tx, limit)]
            return retries.count_pending(tx), [(task, due) for task, due in soon if task is not None]

    # Acting

    def pause(self, task_id: str) -> Task:
        """Keep it from starting until it is resumed; a running attempt ends by itself."""
        return self._act(task_id, lambda tx, task: tasks.pause(tx, task, actor=self.actor))

    def resume(self, task_id: str) -> Task:
        """Let a paused task go on, with every counter it had."""
        return self._act(task_id, lambda tx, task: tasks.resume(tx, task, actor=self.actor))

    def cancel(self, task_id: str) -> Task:
        """End it for good; a running attempt is ended by the worker that owns it, and here if that is dead."""
        task = self._act(task_id, lambda tx, task: tasks.cancel(tx, task, actor=self.actor))
        if task.live is not None:
            wiring.end_cancelled(self.store, self.place, [task.id])
        return self.get(task.id)

    def retry(self, task_id: str, *, attempts: int = 2) -> Task:
        """Once more, now."""
        return self._act(task_id, lambda tx, task: tasks.retry(tx, task, actor=self.actor, attempts=attempts))

    def unblock(self, task_id: str, *, attempts: int = 2) -> Task:
        """Release a blocked task."""
        return self._act(task_id, lambda tx, task: tasks.unblock(tx, task, actor=self.actor, attempts=attempts))

    def act_on(
        self, action: Action, meant: TaskFilter | Iterable[str], *, attempts: int = 2, dry_run: bool = False
    ) -> Bulk:
        """Pause, resume, cancel, retry or unblock all that are meant, in one transaction; or say who it would be."""
        chosen = meant if isinstance(meant, TaskFilter) else list(meant)

        def act(tx: Tx) -> Bulk:
            return bulk.act(tx, action, chosen, actor=self.actor, attempts=attempts, dry_run=dry_run)

        if not dry_run:
            made = self.write(act)
            if action == "cancel":
                wiring.end_cancelled(self.store, self.place, made.done)
            return made
        return self._read(lambda tx: act(tx))

    def block(self, task_id: str, reason: str, *, kind: BlockKind = "external") -> Task:
        """Take it out of the way: `external` returns after `blocked_timeout`, `human` asks a person."""
        timeout = self.place.config.engine.blocked_timeout_ms
        blocks = partial(tasks.block, actor=self.actor, kind=kind, reason=reason, timeout_ms=timeout)
        return self._act(task_id, blocks)

    def edit(
        self,
        task_id: str,
        *,
        reset_failures: bool = False,
        clear_triage_cooldown: bool = False,
        after: Iterable[str] = (),
        **changes: Any,
    ) -> Task:
        """Change it from the next attempt on; the names are those of `medbay add`."""
        fields = requests.edited_fields(changes, agents=self.profiles)
        flags: dict[str, Any] = {"reset_failures": reset_failures, "clear_triage_cooldown": clear_triage_cooldown}
        return self._act(task_id, partial(tasks.edit, actor=self.actor, fields=fields, after=tuple(after), **flags))

    def loop(self, task_ids: Sequence[str], **options: Any) -> list[Task]:
        """Let pending tasks follow each other round and round: `delay`, `max_iterations`, `max_failure_restarts`."""
        asked = requests.loop(**options)
        return self.write(
            lambda tx: schedules.make_loop(tx, [tasks.resolve(tx, each) for each in task_ids], asked, actor=self.actor)
        )

    # Questions and answers

    def inbox(self) -> list[Question]:
        """The questions that wait for a person, oldest first, with what was chosen last time."""
        return self._read(lambda tx: teaching.offered(tx, questions.open_questions(tx)))

    def answer(
        self, question_or_task: str, option: str = "default", *, note: str = "", attempts: int = 2
    ) -> tuple[str, list[str]]:
        """Answer a question; what was chosen, and the tasks it was applied to."""
        return self.write(
            lambda tx: tasks.answer(
                tx,
                question_or_task,
                option,
                actor=self.actor,
                note=note,
                attempts=attempts,
                redaction=app.redaction_of(self.place.config, os.environ),
            )
        )

    def waits_for_a_person(self, task_id: str) -> bool:
        """Whether everything it comes after that is not completed waits for a person."""
        return self._read(lambda tx: dependencies.wait_for_a_person(tx, task_id))

    def preferences(self) -> list[Preference]:
        """What was answered before and is offered again, the newest first."""
        return self._read(lambda tx: questions.every(tx))

    def forget_preference(self, scope: str) -> Preference:
        """Forget what was answered within a scope; what was known is returned."""
        return self.write(lambda tx: teaching.forget(tx, scope))

    # Breakers and incidents

    def breakers(self, *, closed: bool = False) -> list[tuple[Breaker, int]]:
        """The breakers, the newest first, each with how many tasks it holds: parked, or kept from their triage."""
        with self.store.read() as tx:
            return [(each, breaker_service.count_held(tx, each)) for each in breakers.select(tx, closed=closed)]

    def incidents(self, *, closed: bool = False) -> list[IncidentDetail]:
        """The incidents, the newest first, with how many tasks each holds and what is asked about it."""
        return self._read(lambda tx: breaker_service.incidents(tx, closed=closed))

    def incident(self, incident_id: str) -> IncidentDetail:
        """One incident by any beginning of its fingerprint, with some of the tasks it holds."""
        return self._read(lambda tx: breaker_service.incident(tx, incident_id))

    def open_breaker(self, key: str, *, why: str = "", until: int | None = None) -> Breaker:
        """Hold a provider's account (`provider:NAME/ACCOUNT`), until it is closed or until a moment."""
        said = why or f"opened by {self.actor}"
        return self.write(lambda tx: breaker_service.open_one(tx, key, actor=self.actor, why=said, until=until))

    def close_breaker(self, key: str) -> Breaker:
        """Say that it is over: what it held is released, spread out."""
        return self.write(lambda tx: breaker_service.close_one(tx, key, actor=self.actor))

    # Studying the record

    def learned(self) -> list[Learned]:
        """What the recorded retries say about how long to wait, by class of failure."""
        return self._read(lambda tx: learning.all_learned(tx))

    def replay(self, policies: Mapping[str, Policy], *, since_ms: int) -> dict[str, PolicyScore]:
        """The recorded failures of so long as they went, and as they would have gone under each policy."""
        return self._read(lambda tx: learning.replay(tx, policies, since=tx.now - since_ms))

    def patterns(self, wanted: PatternFilter | None = None) -> list[Known]:
        """What is known of failures, the fingerprint seen last first."""
        return self._read(lambda tx: patterns.select(tx, wanted or patterns.PatternFilter()))

    def pattern(self, fingerprint: str) -> tuple[Known, list[str]]:
        """One fingerprint, by any unambiguous beginning of it, and the tasks that met it, the last one first."""
        with self.store.read() as tx:
            known = teaching.resolve_pattern(tx, fingerprint)
            return known, patterns.tasks_of(tx, known.fingerprint)

    def reclassify(self, attempt: str, category: str) -> Reclassified:
        """Say what a failure was: `ID` (its newest) or `ID/NUMBER`, and `CATEGORY` or `CATEGORY/SUBCATEGORY`."""
        return self.write(lambda tx: teaching.reclassify(tx, attempt, category, actor=self.actor, policy=self.policy))

    def forget_pattern(self, fingerprint: str) -> Known:
        """Forget a fingerprint: its count, what was taught, the record of its advice. What was known is returned."""
        with self.store.write() as tx:
            known = teaching.resolve_pattern(tx, fingerprint)
            patterns.forget(tx, known.fingerprint)
            return known

    # Looking after the store

    def check(self) -> StoreReport:
        """Whether the files are sound, nothing stands still, nothing contradicts itself; and what there is."""
        return upkeep.check(self.store)

    def schema(self) -> str:
        """The number of the last migration this store has."""
        return self._read(lambda tx: meta.describe(tx).get("schema", "?"))

    def standstills(self) -> list[tuple[str, str]]:
        """Tasks that nothing would ever move again, and places where the record contradicts itself."""
        return self._read(lambda tx: liveness.standstills(tx) + liveness.contradictions(tx))

    def channels(self) -> list[tuple[ChannelState, int]]:
        """The channels that are configured here: how each is doing, and how many deliveries wait."""
        return self._read(lambda tx: delivery_service.states(tx, self.place.config.notify))

    def fleet(self, *, stopped: int = 0) -> list[ObservedWorker]:
        """The engines on this store with what they run; with `stopped` also so many that ended last."""
        return self._read(lambda tx: worker_service.fleet(tx, stopped=stopped))

    def dead_engines(self) -> list[ObservedWorker]:
        """Those that are not given up yet and whose process is gone, as far as this machine knows."""
        return [each for each in self.fleet() if app.is_gone(each.worker)]

    def backup(self, path: Path | str) -> Path:
        """A consistent copy of the store in a new private file, while others go on working."""
        target = Path(path).absolute()
        self.store.backup(str(target))
        return target

    def archive(self, older_than_ms: int, *, dry_run: bool = False) -> tuple[dict[str, int], Path]:
        """Move the details of what ended so long ago into a file; how many rows of each table, and which file."""
        now, folder = self._clock.now_ms(), self.place.folder
        if dry_run:
            return upkeep.leaving(self.store, now - older_than_ms), upkeep.archive_path(folder, now)
        return upkeep.archive_old(self.store, folder, now=now, older_than_ms=older_than_ms)

    def copy_to(self, url: str) -> dict[str, int]:
        """Copy everything into another, empty store, in one transaction; how many rows each table has there."""
        place = app.find_place(Path.cwd(), store_url=url, environ=os.environ)
        with closing(app.open_store(place, SystemClock(), create=True)) as other:
            if other.store_id == self.store.store_id:
                raise NotAllowed("this is the same store", hint="name another one")
            with self.store.read() as source, other.write() as target:
                return upkeep.copy(source, target)

    # Running

    def daemon(
        self,
        *,
        workers: int | None = None,
        queues: tuple[str, ...] | None = None,
        on_round: Callable[[], object] | None = None,
        round_every_s: float | None = None,
    ) -> Daemon:
        """An engine of this machine on this store, ready to run."""
        from medbay.areas.door import Door

        build = partial(
            wiring.build_daemon, self.store, self.place, clock=self._clock, door=Door(self.place), queues=queues
        )
        return build(slots=workers, on_round=on_round, round_every_s=round_every_s)

    def run_until_idle(self, *, workers: int | None = None, queues: tuple[str, ...] | None = None) -> int:
        """Run everything that can run; 0 done, 1 something was exhausted, 75 something waits for a person."""
        return self.daemon(workers=workers, queues=queues).run(until_idle=True)

    def triage(
        self, task_id: str | None = None, *, dry_run: bool = False, begun: Callable[[Daemon], None] | None = None
    ) -> Cycle:
        """One cycle: start what may start, here and now, and wait for the verdicts.

        Without a task it is for all that wait for a triage; a task that is named is looked at whatever its cooldown.
        `begun` gets the engine that runs them, which can be stopped: what has not ended by then is handed back.
        """
        one = cycle.TriageCycle(
            store=self.store,
            policy=self.policy,
            means=partial(app.means_of, self.place.config, self.place.folder),
            daemon=lambda queues: self.daemon(queues=queues),
            write=self.write,
        )
        return one.run(task_id, dry_run=dry_run, begun=begun)

    def open_triages(self) -> dict[str, int]:
        """How many triages have each status that is not an end."""
        return self._read(lambda tx: triages.count_open(tx))

    def _act(self, task_id: str, command: Callable[[Any, Task], None]) -> Task:
        return self.write(lambda tx: tasks.act_on(tx, task_id, command))

    def now(self) -> int:
        """The time of this Bay's clock, in milliseconds."""
        return self._clock.now_ms()

    def _read(self, ask: Callable[[Tx], T]) -> T:
        """One read transaction."""
        with self.store.read() as tx:
            return ask(tx)

    def write(self, act: Callable[[Tx], T]) -> T:
        """One transaction; made again when it and another waited for each other and this one was undone."""
        for _ in range(_BUSY_TRIES):
            try:
                with self.store.write() as tx:
                    return act(tx)
            except StoreBusy as error:
                busy = error
        raise busy

"""An engine of this machine and what runs beside it, wired from a configuration. Loaded by what starts or ends work."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final

from medbay import env
from medbay.app import (
    StoreLocation,
    channels_of,
    means_of,
    policy_of,
    redaction_of,
    story_root,
    worktrees_root,
)
from medbay.config.fields import Config
from medbay.core import agent
from medbay.core.delivery import Channel
from medbay.core.intake.records import RUNNER as INTAKE
from medbay.core.model import DEFAULT_QUEUE, PRIVATE_QUEUES
from medbay.core.triage.cycle import RUNNER
from medbay.engine import recovery
from medbay.engine.daemon import LOOK_EVERY_S, Daemon, DoorLike
from medbay.engine.deliver import Deliverer, DeliveryThread
from medbay.engine.guardian import Guardian
from medbay.engine.heartbeat import Heartbeats, Pulse
from medbay.engine.identity import see, this_host
from medbay.engine.round import Engine
from medbay.engine.settings import Host, Settings
from medbay.env import Clock, Ids, SystemClock
from medbay.errors import NotAllowed
from medbay.integrations.passes import Passes
from medbay.integrations.protocol import Sender, SenderMeans
from medbay.integrations.worktree import Worktrees
from medbay.places.here import Here
from medbay.places.processes import HostLeftovers
from medbay.places.protocol import Place, Runner
from medbay.places.scripts import takes_advice
from medbay.places.tree import Trees
from medbay.runners.agent.profiles import KnownProfiles
from medbay.runners.agent.runner import AgentRunner
from medbay.runners.ahead import AheadRunner
from medbay.runners.shell.runner import ShellRunner
from medbay.service.attempts import Judgement
from medbay.store.database import Store

DELIVERY_GRACE_S: Final = 5.0  # between asking a command of a channel to stop and ending it


def build_engine(
    store: Store,
    place: StoreLocation,
    *,
    clock: Clock | None = None,
    slots: int | None = None,
    queues: tuple[str, ...] | None = None,
    guard: str = "",
    passes: Passes | None = None,
    host: Host | None = None,
) -> Engine:
    """A real engine on this machine; `guard` marks every process it starts, `passes` are those of its agents.

    `host` is this process of this boot, unless a caller that has its own clock says which boot it is.
    """
    config = place.config
    refuse_links(place.folder)
    host = host or this_host()
    settings = Settings(
        root=place.folder.resolve(),
        slots=slots or config.engine.workers,
        lease_ms=config.engine.lease_for(place.url),
        grace_ms=config.engine.grace_ms,
        crash_budget=config.engine.crash_budget,
        recovery_share=config.engine.slots_for_recovery,
        queue_slots=config.queue_slots,
        place_slots={each.name: each.slots for each in config.places.values()},
        load_aware=config.policy.load_aware,
        policy=policy_of(config),
        limits=config.limits,
        budget=config.spending,
        means=means_of(config, place.folder),
        redaction=redaction_of(config, os.environ),
        zone=env.local_zone(),
        stall_ms=config.runner.stall_ms,
        agent_stall_ms=config.runner.agent_stall_ms,
        trackers=tuple(config.trackers.values()),
        takes_advice=takes_advice,
        queues=queues or (DEFAULT_QUEUE,),
    )
    guard = guard or Ids().store()
    return Engine(
        store=store,
        clock=clock or SystemClock(),
        ids=Ids(),
        place=_places(config, store.store_id, build_here(config, workers=settings.slots, guard=guard, passes=passes)),
        see=partial(see, host=host),
        settings=settings,
        host=host,
        guardian=Guardian(guard, lease_ms=settings.lease_ms),
    )


def build_daemon(
    store: Store,
    place: StoreLocation,
    *,
    clock: Clock,
    door: DoorLike | None,
    slots: int | None,
    queues: tuple[str, ...] | None,
    on_round: Callable[[], object] | None,
    round_every_s: float | None,
) -> Daemon:
    """An engine of this machine with what runs beside it, ready to run."""
    mark, passes = Ids().store(), door.passes if door is not None else None
    engine = build_engine(store, place, clock=clock, slots=slots, queues=queues, guard=mark, passes=passes)
    deliveries = build_deliveries(place, clock=clock, guard=mark, queues=queues)
    every_s = LOOK_EVERY_S if round_every_s is None else round_every_s
    return Daemon(engine, clock, on_round=on_round, round_every_s=every_s, deliveries=deliveries, door=door)


def refuse_links(folder: Path) -> None:
    """Refuse a `.medbay/` with a link in it: what comes with a repository must not say where files are written."""
    with suppress(OSError):
        for each in os.scandir(folder):
            if each.is_symlink():
                what = f"{each.path} is a link, and logs would be written where it leads"
                raise NotAllowed(
                    what, hint="remove it; to have them elsewhere, move the whole store and name it with --store"
                )


def build_deliveries(
    place: StoreLocation, *, clock: Clock, guard: str, queues: tuple[str, ...] | None = None
) -> DeliveryThread | None:
    """What delivers to the configured channels, next to an engine with the same mark; None where there are none.

    Heartbeats are those of a daemon: the engine of one `medbay run`, in a queue of its own, sends none.
    """
    config = place.config
    if not config.notify:
        return None
    channels, owner = channels_of(config), Ids().store()
    senders = build_senders(place, channels, guard=guard)
    pulse, private = Pulse(), any(each.startswith(PRIVATE_QUEUES) for each in queues or ())

    def made(store: Store) -> Deliverer:
        heartbeats = None if private else Heartbeats(channels, senders, pulse, store_id=store.store_id)
        return Deliverer(
            store,
            clock,
            channels,
            senders,
            owner=owner,
            heartbeats=heartbeats,
            budget=config.spending,
            link_key=Ids().token(),
        )

    return DeliveryThread(made, clock, pulse)


def build_senders(place: StoreLocation, channels: Iterable[Channel], *, guard: str) -> dict[str, Sender]:
    """What delivers for these channels, by their kind."""
    config = place.config
    grace_s = min(DELIVERY_GRACE_S, config.engine.grace_ms / 1000)
    means = SenderMeans(
        runner=ShellRunner(Trees(grace_s, config.runner.secrets, guard=guard)),
        folder=config.folder or place.folder.parent,
        files=place.folder.resolve() / "deliveries",
        redaction=redaction_of(config, os.environ),
    )
    kinds = sorted({each.kind for each in channels})
    return {kind: import_module(f"medbay.integrations.{kind}").sender(means) for kind in kinds}


def end_cancelled(store: Store, place: StoreLocation, task_ids: Collection[str]) -> None:
    """End what no engine is there to end any more."""
    engine = place.config.engine
    by = Judgement(policy=policy_of(place.config), crash_budget=engine.crash_budget)
    seen = partial(see, host=this_host())
    recovery.end_cancelled(store, task_ids, leftovers=HostLeftovers(), see=seen, grace_ms=engine.grace_ms, by=by)


def build_here(config: Config, *, workers: int, guard: str, passes: Passes | None) -> Here:
    """This machine, with the runners this configuration has."""
    trees = Trees(config.engine.grace_ms / 1000, config.runner.secrets, guard=guard)

    def python() -> Runner:
        from medbay.runners.python.runner import PythonRunner

        return PythonRunner(trees, workers=workers)

    shell = AheadRunner(ShellRunner(trees))
    profiles = KnownProfiles({name: _located(config, each) for name, each in config.agents.items()})
    models = {name: {each: getattr(own, each) for each in agent.CLASSES} for name, own in config.models.items()}
    worktrees = Worktrees(worktrees_root(config, os.environ), config.git, passes=passes, ours=story_root(config))
    agents = AgentRunner(profiles, ShellRunner(trees), worktrees, models=models)
    runners: dict[str, Runner] = {"shell": shell, agent.RUNNER: agents, RUNNER: shell, INTAKE: shell}
    return Here(runners, HostLeftovers(), later={"python": python})


def _places(config: Config, store_id: str, here: Here) -> Place:
    """This machine, and the places elsewhere that are configured."""
    if not config.places:
        return here
    from medbay.places.routing import Places
    from medbay.places.temporal import TemporalPlace

    return Places(here, {name: TemporalPlace(each, store_id=store_id) for name, each in config.places.items()})


def _located(config: Config, profile: agent.Profile) -> agent.Profile:
    """A profile whose program is found from the directory of the configuration."""
    program = config.located((profile.program,))[0] if profile.program else ""
    return replace(profile, command=config.located(profile.command), program=program)

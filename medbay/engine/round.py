"""One engine: it collects what ended, recovers what was lost, releases what is due, claims and launches.

It decides nothing. Clock, store and place are handed in, so the simulator drives the same code.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from medbay.core.agent import runner_of
from medbay.core.model import Attempt, Event, Worker
from medbay.core.outcome import Failed, Lost, Outcome, Output, Requeued, redacted
from medbay.engine.checker import CheckStarter
from medbay.engine.guardian import Guards, Unguarded
from medbay.engine.identity import register
from medbay.engine.lease import ClockWatch, Lease
from medbay.engine.live import Live, Process, Unrecorded, broken, launch_of
from medbay.engine.recovery import reap
from medbay.engine.settings import Host, Settings
from medbay.engine.settlement import Settler
from medbay.engine.slots import Slots
from medbay.engine.triage import Triager
from medbay.env import Clock, Ids
from medbay.errors import SpawnFailed, StaleClaim, StoreError, StoreTooNew
from medbay.places.protocol import CONNECTING, Place, Running
from medbay.service import attempts, fallbacks, idle, waking, workers, working_set
from medbay.service.attempts import Capacity, Claim, Finished
from medbay.service.workers import Reaped, Sighting
from medbay.store import attempts as attempt_rows
from medbay.store import foresight, meta
from medbay.store import tasks as task_rows
from medbay.store import workers as worker_rows
from medbay.store.apply import write_events
from medbay.store.database import Store, Tx

RECOVER_EVERY_S: Final = 1.0
LOAD_AGAIN_S: Final = 5.0  # how soon retries are looked at again that wait for the load to fall
CLAIM_AGAIN_S: Final = 0.02  # after a claim that may have met nothing but tasks to be parked

log = logging.getLogger("medbay.engine")


class Engine:
    """Runs the attempts of one worker. Every step is a method that can be called alone."""

    lease: Lease

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        ids: Ids,
        place: Place,
        see: Callable[[Worker], Sighting],
        settings: Settings,
        host: Host,
        guardian: Guards | None = None,
    ) -> None:
        self.store = store
        self.settings = settings
        self.live: dict[tuple[str, int], Live] = {}
        self.worker_ids: list[str] = []
        self.claiming = True
        self.attempts_left: int | None = None  # how many more attempts of tasks it begins; None: no limit
        self.outdated: StoreTooNew | None = None  # set once a later version has migrated the store
        self.guardian = guardian or Unguarded()
        self._clock = clock
        self._ids = ids
        self._place = place
        self._see = see
        self._host = host
        self._settler = Settler(store, replace(settings.judgement, ids=ids))
        self.triager = Triager(store, clock, settings)
        self._checker = CheckStarter(store, clock, place, settings, live=self._live_anywhere)
        self.slots = Slots(self.live, settings, self._checker, place, clock, lease=lambda: self.lease)
        self._unrecorded = Unrecorded()
        self._clock_watch = ClockWatch(clock)
        self._recover_at_s = self._reap_from_s = 0.0
        self._sweep_due = False  # until it is done, nothing is claimed: tick() raises before it gets there
        self._claims_in_doubt = self._recovery_first = False
        self._takeovers_in_doubt = False  # whether a commit that took attempts over may have happened unheard
        self._claim_again_s: float | None = None
        self.worker, self.lease = self._register()

    def start(self) -> None:
        """End what an earlier engine left behind, and take its attempts over."""
        self._sweep_due = True
        self.recover()

    def tick(self) -> None:
        """One round. Raises StoreError when the store is away; the next round carries on."""
        self.poll()
        if self.turn():
            return
        self._store_ended()
        self.recover_when_due()
        self.release()
        self.stop_cancelled()
        if self.claiming:
            self.triager.start()
            self.launch(self.claim())

    def turn(self) -> bool:
        """Store what ended, wake what is due and claim what fits in one transaction, for the price of one sync.

        False when there is more to see to, or when that went wrong: then each step is taken by itself.
        """
        if not self._settler.unstored or not self._is_ordinary():
            return False
        capacity = self.slots.capacity(recovery_first=self._recovery_first)
        self._claims_in_doubt = True  # until the commit is known to have happened or not
        try:
            with self.store.write() as tx:
                if self._settler.settle_all_in(tx, self.worker.id):
                    raise StaleClaim("an attempt changed while it was recorded")
                self._wake(tx)
                foresight.end_of_turn(tx, self.worker.id, self.worker.queues, claiming=capacity.has_room)
                self.triager.notice(tx)
                cancelled = task_rows.cancel_requests(tx)
                claims, lasting = self._claim_in(tx, capacity) if capacity.has_room else ([], [])
        except Exception as error:
            log.info("the steps of a round are taken one by one (%s)", error)
            return False
        self._settler.stored_all()
        self._claimed(claims, lasting)
        self._end_those(cancelled)
        self.launch(claims)
        if self.triager.start():
            self.launch(self.claim())
        return True

    def _is_ordinary(self) -> bool:
        """Whether nothing but what ended, what is due and what is ready has to be seen to."""
        due_s = max(self._recover_at_s, self._reap_from_s)
        troubled = (
            self._claims_in_doubt or self._takeovers_in_doubt or self._sweep_due or self._clock_watch.jumped_ms() != 0
        )
        calm = self.claiming and not troubled and not self._checker.due and self._clock.monotonic_s() < due_s
        return calm and self.lease.state() == "held"

    def collect(self) -> bool:
        """Ask every live attempt how it is, and store how the ended ones ended; whether all is stored."""
        self.poll()
        return self._store_ended()

    def poll(self) -> None:
        """Ask every live attempt how it is."""
        now_s, now = self._clock.monotonic_s(), self._clock.now_ms()
        ended = []
        for key, each in list(self.live.items()):
            outcome = each.poll(now_s)
            if outcome is None:
                continue
            del self.live[key]
            self._unrecorded.discard(key)
            self._place.ended(key, each.running)
            self.triager.ended(each.claim.task)
            self._checker.due |= each.leaves_checks(outcome, evaluates=self.settings.means.evaluate is not None)
            if not (each.verifying and isinstance(outcome, Requeued)):  # checks that were stopped are begun again
                ended.append(each.finished(outcome, now, self.settings))
        self.slots.collected()
        self.slots.begin_next()  # beside the commit
        if not self.lease.is_lost:  # asked after looking: what ended since may have been ended by the guardian
            self._settler.take(ended)

    def _store_ended(self) -> bool:
        over = self.lease.state() == "gone"  # then this identity never writes again
        stored = not self._settler.unstored if over else self.settle()
        self.verify()
        return stored

    def settle(self) -> bool:
        """Store how attempts ended, as far as the store says that they are ours; whether all is stored."""
        return self._settler.settle(self.worker.id)

    def verify(self) -> None:
        """Start the checks of what succeeded; what a stopping engine leaves is taken over by the next."""
        if not self.claiming or self._settler.unstored or self.lease.state() != "held":
            return
        for claim, running in self._checker.start(self.worker.id, self.slots.begun, self._settler.take):
            self.live[claim.task.id, claim.attempt.number] = Live(claim, running)

    def recover_when_due(self) -> None:
        """Look for dead workers about once a second; renew first and wait when time or lease were disturbed."""
        now_s = self._clock.monotonic_s()
        if self.lease.state() == "gone":
            self.become_another()
        if jumped := self._clock_watch.jumped_ms():
            log.warning("the clock jumped by %d ms; nothing is taken over for one lease", jumped)
            self.hold_reaping()
            with self.store.write() as tx:
                write_events(tx, (Event(name="clock:jumped", data={"by_ms": jumped, "worker": self.worker.id}),))
            self._clock_watch.recorded()
        self._sweep()
        self._hear_of_takeovers()
        if now_s >= self._recover_at_s and now_s >= self._reap_from_s:
            self._note_places()
            self.recover()
            self._fall_over()

    def _fall_over(self) -> None:
        """Let other agents take what was parked under a hold that has become longer than it may wait."""
        patience_ms = self.settings.policy.fallback_after_ms
        with self.store.read() as tx:
            if not fallbacks.may_move(tx, patience_ms):
                return
        with self.store.write() as tx:
            moved = fallbacks.move(tx, patience_ms)
        if moved:
            self._claim_again_s = self._clock.monotonic_s()

    def _note_places(self) -> None:
        """Record which places can be reached, when that has changed: others are told from the store."""
        if not self.settings.place_slots:
            return
        why = self._place.unreachable()
        known = tuple((name, why.get(name, "")) for name in sorted(self.settings.place_slots))
        if CONNECTING in why.values():
            return
        if known != self.worker.places and self.lease.state() == "held":
            with self.store.write() as tx:
                self.worker = workers.note_places(tx, self.worker, known)
            self._claim_again_s = self._clock.monotonic_s()

    def hold_reaping(self) -> None:
        """Renew first, and take nothing over for one lease: the others may only have been cut off like us."""
        self.lease.beat(self.store)
        self._reap_from_s = self._clock.monotonic_s() + self.settings.lease_ms / 1000

    def recover(self) -> list[Reaped]:
        """Give dead workers up and put their attempts through the door of every ending."""
        self._recover_at_s = self._clock.monotonic_s() + RECOVER_EVERY_S
        with self.store.read() as tx:
            self._notice_newer(meta.refusal(tx))
            dead = workers.find_dead(tx, self.worker, see=self._see, grace_ms=self.settings.grace_ms)
            over = worker_rows.left_behind(tx, ("", *self.settings.place_slots))
            left = [each for worker, _, _ in dead for each in attempt_rows.live_of_worker(tx, worker.id)]
            left += [each for worker in over for each in attempt_rows.live_of_worker(tx, worker.id)]
        running = self._place.still_running({(each.task_id, each.number): each.place for each in left})
        remains = self._remains(left)
        if dead:  # first their processes, then their rows: from then on any engine may start the tasks again
            self._end_leftovers(dead=frozenset(worker.id for worker, _, _ in dead))
        reaped = []
        self._hear_of_takeovers()
        for worker, why, hard in [*((each, "its worker stopped", False) for each in over), *dead]:
            self._takeovers_in_doubt = True  # until the commit is known to have happened or not
            try:
                found = reap(
                    self.store,
                    self._settler,
                    worker,
                    self.worker,
                    why=why,
                    hard=hard,
                    settings=self.settings,
                    running=running,
                    remains=remains,
                )
            except StaleClaim:
                log.info("what %s was running changed meanwhile; it is examined again", worker.id)
                self._takeovers_in_doubt = False
                continue
            self._takeovers_in_doubt = False
            if found is not None:
                self._sweep_due = True
                self._checker.due |= found.taken_over > 0
                self._take_up(found.taken_up)
                reaped.append(found)
        self._sweep()
        return reaped

    def _hear_of_takeovers(self) -> None:
        """Go on with what a commit gave us whose answer was lost; nobody else will, and it must not be handed back."""
        if not self._takeovers_in_doubt:
            return
        known = {*self.live, *((each.task_id, each.number) for each in self._settler.unstored)}
        with self.store.read() as tx:
            taken = workers.unheard(tx, self.worker, known)
        self._takeovers_in_doubt = False
        self._sweep_due = self._checker.due = True
        self._take_up(taken)

    def _notice_newer(self, refused: StoreTooNew | None) -> None:
        """A later version has migrated the store: nothing more is begun here, and what runs comes to its end."""
        if refused is not None and self.outdated is None:
            log.warning("a newer Medbay has migrated the store (%s): no more work is begun here", refused.message)
            self.outdated, self.claiming = refused, False

    def _remains(self, left: Iterable[Attempt]) -> dict[tuple[str, int], Output]:
        """What lost attempts of this host left of a record of their own; read before anything is locked."""
        here = (each for each in left if each.agent and each.host == self._host.name)
        found = {}
        for each in here:
            try:
                output = self._place.left_by(runner_of(each.agent), each.log_path)
            except Exception as error:  # whatever it left: the attempt is lost either way
                log.warning("what attempt %d of %s left cannot be read: %s", each.number, each.task_id, error)
                continue
            shown = redacted(Lost(why="", output=output), self.settings.redaction)
            found[each.task_id, each.number] = shown.output
        return found

    def _take_up(self, claims: Iterable[Claim]) -> None:
        """Go on with attempts that outlived their engine, where the place has such; one that is gone by now is lost."""
        for claim in claims:
            launch = launch_of(claim, self.settings, store_id=self.store.store_id, ahead=False)
            try:
                running = self._place.reattach(launch, self._clock.monotonic_s())
            except SpawnFailed as error:
                self._unstarted(claim, Lost(why=str(error)))
                continue
            self.live[claim.task.id, claim.attempt.number] = Live(claim, running)

    def release(self) -> int:
        """Wake what is due, and maintain breakers: canaries, and what they held."""
        with self.store.read() as tx:
            foresight.next_wake(tx, self.settings.queues)
            self.triager.notice(tx)
            at = waking.next_at(tx)
            if at is None or at > tx.now:
                return 0
        with self.store.write() as tx:
            return self._wake(tx)

    def _wake(self, tx: Tx) -> int:
        return waking.wake(tx, self.settings.limits, self.settings.spending, actor=f"worker:{self.worker.id}")

    def stop_cancelled(self) -> None:
        """End the trees of tasks that a person cancelled."""
        if self.live:
            with self.store.read() as tx:
                wanted = task_rows.cancel_requests(tx)
            self._end_those(wanted)

    def _end_those(self, wanted: Iterable[tuple[str, int | None]]) -> None:
        for task_id, number in wanted:
            if (each := self.live.get((task_id, number or 0))) is not None:
                each.running.cancel(self._clock.monotonic_s())

    def claim(self) -> list[Claim]:
        """Fill the free slots and what may wait ahead. Nothing new while how something ended is not stored."""
        known = self._checker.count(self.worker.id, self.slots.begun)
        capacity, self._claim_again_s = self.slots.capacity(recovery_first=self._recovery_first), None
        ready = known and capacity.has_room and not self._settler.unstored and self.lease.state() == "held"
        if not ready or self._hand_back_unheard():
            return []
        with self.store.read() as tx:
            foresight.idle(tx, self.settings.queues)
            if not idle.has_claimable(tx, self.settings.queues):
                return []
        self._claims_in_doubt = True  # until the commit is known to have happened or not
        with self.store.write() as tx:
            claims, lasting = self._claim_in(tx, capacity)
        self._claimed(claims, lasting)
        return claims

    def _claim_in(self, tx: Tx, capacity: Capacity) -> tuple[list[Claim], list[Process]]:
        """Claim, and record the processes of what lasts; both count once that is committed."""
        self._claim_again_s = None
        lasting = self._unrecorded.to_record(self.live)
        attempts.record_processes(tx, lasting)
        work = working_set.load(tx, changing=False)
        log_path, budget = self.settings.log_path, self.settings.spending
        if self.attempts_left == 0:
            return [], lasting
        claims = attempts.claim(tx, self.worker, capacity, work, log_path=log_path, budget=budget)
        if (work.parks and not claims) or (budget.limited and len(claims) < capacity.room):
            self._claim_again_s = self._clock.monotonic_s() + CLAIM_AGAIN_S
        elif capacity.short_of and len(claims) < capacity.room:
            self._claim_again_s = self._clock.monotonic_s() + LOAD_AGAIN_S
        if capacity.short_of != self.worker.short_of:
            self.worker = worker_rows.note_shortage(tx, self.worker, capacity.short_of)
        return claims, lasting

    def _claimed(self, claims: list[Claim], lasting: list[Process]) -> None:
        self._claims_in_doubt = False
        self._unrecorded.recorded(lasting)
        if self.attempts_left is not None:
            self.attempts_left -= sum(not claim.task.role for claim in claims)  # a triage is no attempt of the task
        if claims:
            self._recovery_first = not claims[-1].task.recovery

    def _hand_back_unheard(self) -> bool:
        """A commit whose answer was lost may have claimed something for us; whether anything had to be handed back."""
        if not self._claims_in_doubt:
            return False
        with self.store.read() as tx:
            unheard = attempts.not_running(tx, self.worker.id, self.live.keys())
        self._settler.take(unheard)
        self._claims_in_doubt = False
        return bool(unheard)

    def launch(self, claims: Iterable[Claim]) -> None:
        """Start what was claimed, after the claim is committed."""
        claims = list(claims)
        alone = self._end_earlier_attempts(claims)
        free = self.slots.free
        for at, claim in enumerate(claims):
            if self.lease.state() != "held":
                self._too_late(claims[at:])
                break
            if not alone and self._may_be_left(claim):
                self._unstarted(claim, Requeued(asked=False, why="an earlier attempt may still be running"))
                continue
            free -= 1
            try:
                launch = launch_of(claim, self.settings, store_id=self.store.store_id, ahead=free < 0)
                launch = self.triager.prepared(claim, launch)
                running = self._place.start(launch, self._clock.monotonic_s())
            except SpawnFailed as error:
                output = Output(tail=str(error), total_bytes=len(str(error)), log_path=claim.attempt.log_path)
                self._unstarted(claim, Failed(output=output, spawn_error=str(error)))
                continue
            except StoreError:
                raise
            except Exception as error:
                self._unstarted(claim, broken(claim, error))
                continue
            key = (claim.task.id, claim.attempt.number)
            self.live[key] = Live(claim, running)
            self._unrecorded.add(key)
        self.lease.guard(self.running)  # suspended since it was asked: before a process has come to anything
        self.slots.turn_over()  # some may have ended beside the commit

    def _too_late(self, claims: Iterable[Claim]) -> None:
        """Suspended since the claim: another may run them by now. What began on the way here is ended first."""
        self.lease.guard(self.running)
        for claim in claims:
            self._unstarted(claim, Requeued(asked=False, why="the lease ran out before it could start"))

    def running(self) -> list[Running]:
        """Everything that is live, also for a thread beside the loop."""
        return [each.running for each in list(self.live.values())]

    def hand_back_all(self, why: str, *, waiting_only: bool = False) -> None:
        """Ask every live attempt, or all that are not begun, to end and be started again. Elsewhere they go on."""
        for each in self.live.values():
            if not waiting_only or self._place.waits(each.running):
                each.running.hand_back(self._clock.monotonic_s(), why=why)

    def leave_elsewhere(self) -> None:
        """Let what runs at other places go on without this engine; the next one takes it up."""
        for key, each in list(self.live.items()):
            if each.claim.task.place and not each.verifying:
                each.running.kill()
                del self.live[key]

    def kill_all(self) -> None:
        """End every live attempt of this machine at once; what runs elsewhere goes on, unwatched."""
        for each in self.live.values():
            each.running.kill()

    def stop(self) -> None:
        """Close this worker in the store; nothing of it is live any more."""
        self._place.close()
        with self.store.write() as tx:
            workers.stop(tx, self.worker)

    def become_another(self) -> None:
        """The lease is gone: end the trees, forget what they did, and go on under a new identity."""
        log.warning("worker %s lost its lease; going on as another", self.worker.id)
        self.kill_all()
        worker, lease = self._register()  # raises while the store is away: then nothing may be forgotten yet
        self.live.clear()
        self._checker.waiting = ()
        self._settler.forget()
        self._takeovers_in_doubt = False
        self._unrecorded.clear()
        self.worker, self.lease = worker, lease
        self.guardian.restart(lease.renewed_s)  # the one of the old lease would end what comes now
        self._reap_from_s = self._clock.monotonic_s() + self.settings.lease_ms / 1000

    def is_idle(self) -> bool:
        """Whether nothing is running, ready or waiting to be tried again."""
        if self.live or self._settler.unstored:
            return False
        with self.store.read() as tx:
            return idle.is_idle(tx, self.settings.queues)

    def next_wake_s(self) -> float | None:
        """Monotonic time at which something has to be done even if nothing happens."""
        times = [each.running.deadline_s() for each in self.live.values()]
        times += [max(self._recover_at_s, self._reap_from_s), self._claim_again_s, self.triager.again_s]
        times.append(self.slots.wake_s())
        with self.store.read() as tx:
            if (at := waking.next_at(tx)) is not None:
                times.append(self._clock.monotonic_s() + max(0, at - tx.now) / 1000)
        return min(time for time in times if time is not None)

    def _register(self) -> tuple[Worker, Lease]:
        made = register(self.store, self._clock, self._ids, self.settings, self._host, on_renewal=self.guardian.tend)
        self.worker_ids.append(made[0].id)
        return made

    def _sweep(self) -> None:
        """What was begun at the start or after a takeover is brought to its end, whatever came in between."""
        if self._sweep_due:
            self._end_leftovers()
            self._sweep_due = False

    def _end_leftovers(self, *, dead: frozenset[str] = frozenset()) -> None:
        """No process of an attempt that is over, or of a dead worker, may go on next to the next one."""
        if ended := self._place.end_leftovers(store_id=self.store.store_id, live=lambda: self._live_anywhere(dead)):
            processes = "1 process" if ended == 1 else f"{ended} processes"
            log.warning("ended %s that earlier attempts left behind", processes)  # of this engine, or of another

    def _end_earlier_attempts(self, claims: Iterable[Claim]) -> bool:
        """What an attempt left in a session of its own may not go on next to the next; whether nothing can be left."""
        if any(map(self._may_be_left, claims)):
            try:
                self._end_leftovers()
            except StoreError:
                return False
        return True

    def _may_be_left(self, claim: Claim) -> bool:
        """Whether something of an earlier attempt may still run; the one before it saw to all before that."""
        return claim.again and self._place.may_be_left((claim.task.id, claim.attempt.number - 1))

    def _unstarted(self, claim: Claim, outcome: Outcome) -> None:
        task_id, number, now = claim.task.id, claim.attempt.number, self._clock.now_ms()
        shown = redacted(outcome, self.settings.redaction.knowing(dict(claim.task.env)))
        self._settler.take([Finished(task_id=task_id, number=number, outcome=shown, ended_at=now)])

    def _live_anywhere(self, dead: frozenset[str] = frozenset()) -> frozenset[tuple[str, int]]:
        with self.store.read() as tx:
            lost = (each for worker_id in dead for each in attempt_rows.live_of_worker(tx, worker_id))
            # What its place runs goes on without its engine, perhaps on this very machine.
            return attempt_rows.live_keys(tx) - {(each.task_id, each.number) for each in lost if not each.place}

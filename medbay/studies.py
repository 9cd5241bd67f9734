"""The part of a `Bay` that studies the record: what could be learned from it, what another policy would have done."""

from __future__ import annotations

from collections.abc import Mapping

from medbay.core.attempt.knowledge import Known
from medbay.core.policy import replay as replaying
from medbay.core.policy.learning import Learned
from medbay.core.policy.policy import Policy
from medbay.core.policy.replay import Played, PolicyScore, score
from medbay.env import Clock
from medbay.errors import NotFound
from medbay.service import learning, teaching
from medbay.service import learning as record
from medbay.store import patterns
from medbay.store.database import KeptStore
from medbay.store.patterns import PatternFilter

RECORDED = "as it was"


class Studies:
    """Questions about the past; nothing is changed by asking."""

    store: KeptStore
    _clock: Clock

    def learned(self) -> list[Learned]:
        """What the recorded retries say about how long to wait, by class of failure."""
        with self.store.read() as tx:
            return learning.all_learned(tx)

    def replay(self, policies: Mapping[str, Policy], *, since_ms: int) -> dict[str, PolicyScore]:
        """The recorded failures of so long as they went, and as they would have gone under each policy."""
        played: dict[str, list[Played]] = {RECORDED: [], **{name: [] for name in policies}}
        with self.store.read() as tx:
            for episode in record.episodes(tx, tx.now - since_ms):
                played[RECORDED].append(replaying.as_recorded(episode))
                for name, policy in policies.items():
                    played[name].append(replaying.replay(episode, policy, tx.now))
        if not played[RECORDED]:
            raise NotFound(
                "no task failed in that time", hint="there is nothing to replay; --since 90d looks further back"
            )
        return {name: score(each) for name, each in played.items()}

    def patterns(self, wanted: PatternFilter | None = None) -> list[Known]:
        """What is known of failures, the fingerprint seen last first."""
        with self.store.read() as tx:
            return patterns.select(tx, wanted or PatternFilter())

    def pattern(self, fingerprint: str) -> tuple[Known, list[str]]:
        """One fingerprint, by any unambiguous beginning of it, and the tasks that met it, the last one first."""
        with self.store.read() as tx:
            known = teaching.resolve_pattern(tx, fingerprint)
            return known, patterns.tasks_of(tx, known.fingerprint)

"""What the recorded retries say about waiting, for whoever decides and whoever asks."""

from __future__ import annotations

from dataclasses import replace

from medbay.core import learning
from medbay.core.learning import Learned
from medbay.core.policy import Policy
from medbay.store import retries
from medbay.store.database import Tx


def in_force(tx: Tx, policy: Policy, kind: str) -> Policy:
    """The policy with what was learned of a class, where delays are learned at all."""
    return replace(policy, learned={kind: learned(tx, kind)}) if policy.adaptive else policy


def learned(tx: Tx, kind: str) -> Learned:
    """What the newest retries of a class say."""
    return learning.learn(kind, retries.tried(tx, kind, learning.HISTORY_MAX))


def all_learned(tx: Tx) -> list[Learned]:
    """The same for every class that was retried."""
    return [learned(tx, kind) for kind in retries.classes_tried(tx)]

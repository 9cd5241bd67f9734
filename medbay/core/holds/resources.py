"""The resources of a task: accounts of providers, named or learned from the failures of the same command."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Final

from medbay.core.attempt.cause import LIMIT_KINDS
from medbay.core.diagnosis.record import Diagnosis
from medbay.core.holds.breaker import Breaker
from medbay.core.model import Task

PROVIDER: Final = "provider:"
COMMAND: Final = f"{PROVIDER}command-"  # a limit of nobody but the command that met it
INCIDENT: Final = "incident:"
CRASH_LOOP: Final = "crash_loop:"
KNOWN_FOR_MS: Final = 7 * 24 * 3_600_000  # how long a command is taken to use the provider a failure named


def command_key(task: Task) -> str:
    """The same for tasks with the same runner and exactly the same command, and for no others."""
    return hashlib.blake2b(repr((task.runner, task.command)).encode("utf-8", "replace"), digest_size=12).hexdigest()


def incident_key(fingerprint: str) -> str:
    """The key of the incident on a fingerprint."""
    return INCIDENT + fingerprint


def crash_loop_key(runner: str, host: str) -> str:
    """The key of the crash loop of a runner on a host."""
    return f"{CRASH_LOOP}{runner}@{host}"


def account_of(task: Task, diagnosis: Diagnosis | None) -> str | None:
    """Whose limit a failure speaks of: the provider it names, on the task's account there; else the task's only one.

    A limit that names a time and nobody else is the command's own.
    """
    if not task.resources:
        named_one = diagnosis.provider if diagnosis is not None else None
        return PROVIDER + named_one if named_one is not None else _own(task, diagnosis)
    named = [each for each in task.resources if each.startswith(PROVIDER)]
    if diagnosis is None or diagnosis.provider is None:
        return named[0] if len(named) == 1 else _own(task, diagnosis)
    own = (each for each in named if provider_of(each) == diagnosis.provider)
    return next(own, PROVIDER + diagnosis.provider)


def _own(task: Task, diagnosis: Diagnosis | None) -> str | None:
    timed = diagnosis is not None and diagnosis.subcategory in LIMIT_KINDS and diagnosis.retry_after_ms is not None
    return f"{COMMAND}{command_key(task)[:8]}" if timed else None


def is_commands(account: str) -> bool:
    """Whether a limit is that of a command, because nobody else was named."""
    return account.startswith(COMMAND)


def held_by(task: Task, breakers: Mapping[str, Breaker], uses: Collection[str]) -> Breaker | None:
    """The first breaker that holds this task: a provider's, then an incident. `uses` is what its command needs.

    What a task says of a provider itself stands over what its command was seen to need.
    """
    providers = {provider_of(each) for each in task.resources}
    learned = sorted(each for each in uses if each.startswith(PROVIDER) and provider_of(each) not in providers)
    keys = [*task.resources, *learned]
    if task.last_fingerprint:
        keys.append(incident_key(task.last_fingerprint))
    if task.streak == 0:
        keys += sorted(each for each in uses if each.startswith(INCIDENT))
    return next((found for key in keys if (found := breakers.get(key)) is not None), None)


def provider_of(resource: str) -> str:
    """The provider of a resource, whatever the account."""
    return resource.removeprefix(PROVIDER).partition("/")[0]

"""Offering what a person chose before, and remembering what they choose."""

from __future__ import annotations

from collections.abc import Sequence

from medbay.core import preference
from medbay.core.model import Option, Question
from medbay.core.preference import Preference
from medbay.errors import NotFound, UsageError
from medbay.store import preferences
from medbay.store.database import Tx


def offered(tx: Tx, asked: Sequence[Question]) -> list[Question]:
    """Questions as they are shown: with what was chosen last time."""
    known = preferences.within(tx, (scope for each in asked for scope in preference.scopes(each)))
    return [preference.offered(each, known) for each in asked] if known else list(asked)


def remember(tx: Tx, asked: Question, option: Option, *, actor: str) -> None:
    """Keep what was answered, for the next question of the same scope."""
    known = preferences.within(tx, preference.scopes(asked))
    for kept in preference.to_keep(asked, option, known, by=actor, now=tx.now):
        preferences.save(tx, kept)


def forget(tx: Tx, given: str) -> Preference:
    """Forget one by its scope, or by any beginning of it that only it has; what was known is returned."""
    known = preferences.every(tx)
    found = [each for each in known if each.scope == given] or [each for each in known if each.scope.startswith(given)]
    if not found:
        raise NotFound(f'nothing is remembered for "{given}"', hint="medbay preferences lists what is")
    if len(found) > 1:
        raise UsageError(f'"{given}" could be {found[0].scope} or {found[1].scope}', hint="type more of it")
    preferences.forget(tx, found[0].scope)
    return found[0]

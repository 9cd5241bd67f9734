"""The agents that are known by name: one file each, with how it is started and a reader of its output.

A new one is a new file here with a `PRESET`, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from medbay.core.agent import CUSTOM, Profile
from medbay.runners.agent.preset import Preset


@cache
def names() -> tuple[str, ...]:
    """The names of all that are there."""
    return tuple(sorted(each.name for each in iter_modules(__path__)))


def preset_of(profile: Profile) -> Preset:
    """How a profile is started and read."""
    return preset(profile.preset or CUSTOM)


def preset(name: str) -> Preset:
    """One by its name."""
    found: Preset = import_module(f"{__name__}.{name}").PRESET
    return found


class KnownProfiles(Mapping[str, Profile]):
    """The profiles that are configured, and those that are known by name; each is made when it is asked for."""

    def __init__(self, configured: Mapping[str, Profile]) -> None:
        self.configured = configured

    def __getitem__(self, name: str) -> Profile:
        """One profile; what it does not say itself its preset says."""
        profile = self.configured.get(name)
        if profile is None:
            if name not in names() or name == CUSTOM:
                raise KeyError(name)
            profile = Profile(name=name)
        if profile.command and not profile.preset:
            return replace(profile, preset=CUSTOM)
        known = preset(profile.preset or name)
        return replace(profile, preset=known.name, provider=profile.provider or known.provider)

    def __iter__(self) -> Iterator[str]:
        """The names of all."""
        yield from self.configured
        yield from (name for name in names() if name not in self.configured and name != CUSTOM)

    def __len__(self) -> int:
        """How many there are."""
        return sum(1 for _ in self)

"""How many examples a property is tried with: few in `make test`, many in `make test-all`."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

USUAL = 100  # what Hypothesis does unless told otherwise
FEWEST = 10

_noisy = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # no machine is quiet all the time
settings.register_profile("small", _noisy, max_examples=USUAL // 4)
settings.register_profile("long", _noisy, max_examples=USUAL * 2)


def load_profile() -> None:
    """The one that the environment names."""
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "small"))


def examples(number: int) -> settings:
    """So many where the usual number is a hundred, and in proportion under the profile of this run."""
    return settings(max_examples=max(FEWEST, number * settings().max_examples // USUAL))

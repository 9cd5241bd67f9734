"""What is said of an attempt that stopped making progress."""

from __future__ import annotations

import pytest

from medbay.core.attempt.standstill import described
from medbay.core.outcome import Stalled
from tests.core.builders import diagnosis


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("", "no sign of progress for 10m; no output"),
        (
            "step 1\nwaiting\n\n[medbay] ended: no progress for 600.0 s; last started: sleep 100\n",
            'no sign of progress for 10m; last output: "waiting"; last started: sleep 100',
        ),
        ("x\n[medbay] ended: no progress for 600.0 s\n", 'no sign of progress for 10m; last output: "x"'),
    ],
)
def test_what_it_did_last_is_in_the_summary(log: str, said: str) -> None:
    """So that the next attempt is told of it."""
    assert described(diagnosis(), Stalled(silent_s=600.0), log).summary == said

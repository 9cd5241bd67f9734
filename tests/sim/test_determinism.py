"""The same seed gives the same world, to the letter, in every process."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from medbay.sim.many import run_seed

SHOW = """
import json
from medbay.sim.many import run_seed
reports = [run_seed(seed) for seed in (3, 8, 12)]
print(json.dumps([[r.digest, r.steps, r.attempts, r.virtual_ms] for r in reports]))
"""


def test_the_same_seed_gives_the_same_log_under_any_hash_seed() -> None:
    """No order of a set or a dictionary reaches a decision."""
    seen = [show(hash_seed) for hash_seed in ("0", "4711")]

    assert seen[0] == seen[1]
    assert len({digest for digest, *_ in seen[0]}) == 3


def test_a_run_leaves_nothing_behind_for_the_next() -> None:
    """Twice in one process: the same, whatever ran in between."""
    first = run_seed(3)
    run_seed(12)

    assert run_seed(3) == first


def show(hash_seed: str) -> list[list[object]]:
    """What three seeds come to in a process of their own."""
    done = subprocess.run(
        [sys.executable, "-c", SHOW],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    found: list[list[object]] = json.loads(done.stdout)
    return found

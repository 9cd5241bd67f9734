"""`python -m medbay.sim --seeds 300`: the simulator without the rest of the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from medbay.sim.many import DEFAULT_SEEDS, simulate


def main(args: Sequence[str] | None = None) -> int:
    """Run what was asked for; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m medbay.sim", description="Run seeds of the simulator.")
    parser.add_argument("--seed", type=int, help="one seed, to see it again")
    parser.add_argument("--seeds", type=int, default=DEFAULT_SEEDS, help="how many")
    parser.add_argument("--first", type=int, default=1, help="the first of them")
    parser.add_argument("--days", type=float, help="how many virtual days with faults")
    parser.add_argument("--tasks", type=int, help="how many tasks")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--json", action="store_true", help="the figures for programs")
    given = parser.parse_args(args)
    seeds = [given.seed] if given.seed is not None else range(given.first, given.first + given.seeds)
    return simulate(seeds, days=given.days, tasks=given.tasks, jobs=given.jobs, as_json=given.json)


if __name__ == "__main__":
    sys.exit(main())

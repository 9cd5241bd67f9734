"""`python -m chaos --kills 500 --database sqlite --seed N --scenario NAME`; exit 1 when a promise broke."""

from __future__ import annotations

import argparse
import signal
import sys

from chaos.play import play
from chaos.scenarios import SCENARIOS


def main() -> int:
    """Play what was asked for, one scenario after another."""
    names = [each.name for each in SCENARIOS]
    parser = argparse.ArgumentParser(prog="python -m chaos", description="the real daemon under real faults")
    parser.add_argument("--kills", type=int, default=100, help="how many kills; other faults in proportion (100)")
    parser.add_argument("--database", choices=("sqlite", "postgres"), action="append", help="one of them (both)")
    parser.add_argument("--scenario", choices=names, action="append", help="only this one; may be repeated (all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="keep the directories, also when all is well")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # what was started is ended then, too
    failed = False
    for database in asked.database or ("sqlite", "postgres"):
        for scenario in SCENARIOS:
            wanted = scenario.name in (asked.scenario or names) and database in scenario.databases
            if wanted:
                told = play(scenario, database, kills=asked.kills, seed=asked.seed, keep=asked.keep)
                failed |= bool(told.broken)
                print(told.line(), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Measure everything, or what is named: `make bench ARGS="A B C --runs 1"`, `make bench ARGS="claim start"`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from bench import claim, diagnosis, many, start, targets
from bench.ground import STORES, Ground, machine
from bench.scenarios import SCENARIOS, run

MEASUREMENTS: dict[str, Callable[[], list[str]]] = {
    "start": start.measure,
    "claim": claim.measure,
    "diagnosis": diagnosis.measure,
    "many": many.measure,
}


def main() -> int:
    """Figures as lines, scenarios as JSON lines with a table of the bars; 1 when a run was troubled."""
    names = [*SCENARIOS, *MEASUREMENTS]
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}; all if none is named")
    parser.add_argument("--store", choices=STORES, action="append", help="which databases; both if not said")
    parser.add_argument("--runs", type=int, default=3, help="how often each rate is measured")
    parser.add_argument("--count", type=int, default=0, help="how many tasks, instead of the scenario's own number")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also append the JSON lines to a file")
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.names if name not in names]:
        parser.error(f"no measurement {unknown[0]!r}; there are {', '.join(names)}")
    wanted = chosen.names or names
    for name in wanted:
        if name in MEASUREMENTS:
            for line in MEASUREMENTS[name]():
                print(f"{name:10} {line}", flush=True)
    return _scenarios([name for name in wanted if name in SCENARIOS], chosen)


def _scenarios(letters: list[str], chosen: argparse.Namespace) -> int:
    if not letters:
        return 0
    results = []
    with Ground() as ground:
        for result in run(ground, letters, chosen.store or STORES, runs=chosen.runs, count=chosen.count):
            print(line := json.dumps(result), flush=True)
            results.append(result)
            if chosen.json:
                with open(chosen.json, "a", encoding="utf-8") as file:
                    file.write(line + "\n")
    print(f"\n{machine()}")
    print("\n".join(targets.table(targets.verdicts(results))))
    failed = [result for result in results if "failed" in result]
    for result in failed:
        print(f"{result['scenario']} on {result['store']} FAILED: {result['failed']}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

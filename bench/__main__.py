"""Measure everything, or what is named: `make bench ARGS="A B C --runs 1"`, `make bench ARGS="claim start"`.

`peers` measures the scenarios beside the peers' own scripts and writes docs/benchmarks.md; `report` writes it again
from the figures it kept.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import claim, costs, diagnosis, intake, many, peers, places, recurring, report, scale, start, targets, web
from bench.ground import STORES, Ground, machine
from bench.scenarios import SCENARIOS, run

MEASUREMENTS: dict[str, Callable[[], list[str]]] = {
    "start": start.measure,
    "claim": claim.measure,
    "costs": costs.measure,
    "diagnosis": diagnosis.measure,
    "intake": intake.measure,
    "many": many.measure,
    "places": places.measure,
    "recurring": recurring.measure,
    "scale": scale.measure,
    "web": web.measure,
}


def main() -> int:
    """Figures as lines, scenarios as JSON lines with a table of the bars; 1 when a run was troubled."""
    chosen = _arguments()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))  # servers and daemons are ended on the way out
    if chosen.names == ["report"]:
        report.render(json.loads((report.DOCS / "benchmarks.json").read_text("utf-8")))
        return 0
    if "peers" in chosen.names:
        return _side_by_side([name for name in chosen.names if name in SCENARIOS] or list(SCENARIOS), chosen)
    wanted = chosen.names or [*SCENARIOS, *MEASUREMENTS]
    for name in wanted:
        if name in MEASUREMENTS:
            for line in MEASUREMENTS[name]():
                print(f"{name:10} {line}", flush=True)
    return _scenarios([name for name in wanted if name in SCENARIOS], chosen)


def _arguments() -> argparse.Namespace:
    names = [*SCENARIOS, *MEASUREMENTS, "peers", "report"]
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}; all of ours if none is named")
    parser.add_argument("--store", choices=STORES, action="append", help="which databases; both if not said")
    parser.add_argument("--runs", type=_whole, default=3, help="how often each rate is measured")
    parser.add_argument("--count", type=_whole, default=0, help="how many tasks, instead of the scenario's own number")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also append the JSON lines to a file")
    parser.add_argument("--peers", type=Path, metavar="DIR", help="where the peers' scripts are (with the name peers)")
    parser.add_argument("--kept", type=Path, metavar="DIR", help="keep what the peers install here for the next run")
    parser.add_argument("--add", action="store_true", help="keep the report's other scenarios (with the name peers)")
    parser.add_argument("--docs", type=Path, metavar="DIR", default=report.DOCS, help="where to write the report")
    chosen = parser.parse_intermixed_args()  # names may stand behind options, as docs/benchmarks.md has them
    if unknown := [name for name in chosen.names if name not in names]:
        parser.error(f"no measurement {unknown[0]!r}; there are {', '.join(names)}")
    return chosen


def _whole(text: str) -> int:
    """A whole number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return int(text)


def _side_by_side(letters: list[str], chosen: argparse.Namespace) -> int:
    scripts = peers.scripts_in(chosen.peers)
    with Ground() as ground:
        others = peers.Peers(scripts, ground, kept=chosen.kept, count=chosen.count)
        try:
            results = []
            stores = chosen.store or STORES
            for result in peers.run(ground, others, letters, stores, rounds=chosen.runs, count=chosen.count):
                _tell(result, chosen.json)
                results.append(result)
        finally:
            others.close()
    written = report.write(
        results,
        machine=machine(),
        day=time.strftime("%Y-%m-%d"),
        command=_words(letters, chosen),
        docs=chosen.docs,
        add=chosen.add,
    )
    ours = [result for result in results if result["peer"].startswith("medbay-")]
    print("\n".join(targets.table(targets.verdicts(ours, [each for each in results if each not in ours]))))
    print(f"written: {', '.join(path.name for path in written)}")
    return _failures(ours)


def _words(letters: list[str], chosen: argparse.Namespace) -> str:
    """The command again, without the folders of this machine."""
    scenarios = [] if letters == list(SCENARIOS) else letters
    stores = [word for store in chosen.store or () for word in ("--store", store)]
    counted = ["--count", str(chosen.count)] if chosen.count else []
    return " ".join(["peers", "--peers DIR", *scenarios, *stores, "--runs", str(chosen.runs), *counted])


def _scenarios(letters: list[str], chosen: argparse.Namespace) -> int:
    if not letters:
        return 0
    results = []
    with Ground() as ground:
        for result in run(ground, letters, chosen.store or STORES, runs=chosen.runs, count=chosen.count):
            _tell(result, chosen.json)
            results.append(result)
    print(f"\n{machine()}")
    print("\n".join(targets.table(targets.verdicts(results))))
    return _failures(results)


def _tell(result: dict[str, Any], file: Path | None) -> None:
    print(line := json.dumps(result), flush=True)
    if file is not None:
        with open(file, "a", encoding="utf-8") as kept:
            kept.write(line + "\n")


def _failures(results: list[dict[str, Any]]) -> int:
    failed = [result for result in results if "failed" in result]
    for result in failed:
        print(f"{result['scenario']} on {result['store']} FAILED: {result['failed']}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

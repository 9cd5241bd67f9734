"""Run every measurement, or the ones that are named: `make bench ARGS="claim start"`."""

from __future__ import annotations

import sys
from collections.abc import Callable

from bench import claim, diagnosis, many, start

MEASUREMENTS: dict[str, Callable[[], list[str]]] = {
    "start": start.measure,
    "claim": claim.measure,
    "diagnosis": diagnosis.measure,
    "many": many.measure,
}


def main() -> int:
    """Print one line per figure."""
    chosen = sys.argv[1:] or list(MEASUREMENTS)
    unknown = [name for name in chosen if name not in MEASUREMENTS]
    if unknown:
        print(f"bench: no measurement {unknown[0]!r}; there are {', '.join(MEASUREMENTS)}", file=sys.stderr)
        return 2
    for name in chosen:
        for line in MEASUREMENTS[name]():
            print(f"{name:10} {line}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

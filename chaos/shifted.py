"""`medbay` with a wall clock that is off by what a file says: `python -m chaos.shifted FILE up`."""

from __future__ import annotations

import sys
from pathlib import Path

from medbay.cli.main import main
from medbay.env import SystemClock


def shift(offset: Path) -> None:
    """From here on every wall clock of this process is off by so many milliseconds."""
    real = SystemClock.now_ms

    def now_ms(self: SystemClock) -> int:
        return real(self) + int(offset.read_text(encoding="ascii") or 0)

    SystemClock.now_ms = now_ms  # type: ignore[method-assign]


if __name__ == "__main__":
    shift(Path(sys.argv.pop(1)))
    sys.exit(main())

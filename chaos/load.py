"""The load: a mix of everything a task can be, drawn from a seed, as lines for `medbay add --file`."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
COPIED: Final = ("job.sh", "python_job.py")

# How often each kind is drawn, and what it adds to the line.
KINDS: Final[tuple[tuple[str, int, dict[str, Any]], ...]] = (
    ("ok", 40, {}),
    ("flaky", 12, {}),
    ("hangs", 4, {"timeout": "300ms"}),
    ("swells", 2, {"memory": "40M", "timeout": "20s"}),
    ("named", 5, {}),
    ("later", 5, {}),
    ("leaves", 4, {}),
    ("python", 12, {}),
    ("python flaky", 4, {}),
    ("checked", 6, {"check": "bash job.sh check ok"}),
    ("checked twice", 4, {"check": ["bash job.sh check flaky", "bash job.sh check ok"]}),
)
CHAINED: Final = 0.3  # the share of tasks that come after an earlier one


class Load:
    """Draws tasks; the keys it gives them let later ones name earlier ones before anybody knows their ids."""

    def __init__(self, home: Path, rng: random.Random) -> None:
        self._home = home
        self._rng = rng
        self._drawn = 0
        for name in COPIED:
            (home / name).write_bytes((HERE / name).read_bytes())
        for name in ("locks", "state"):
            (home / name).mkdir()

    def lines(self, count: int, *, longest_s: float = 0.15) -> list[dict[str, Any]]:
        """So many tasks, each short; some come after another of the same batch."""
        batch: list[dict[str, Any]] = []
        for _ in range(count):
            batch.append(self._line(batch, longest_s))
        return batch

    def _line(self, batch: list[dict[str, Any]], longest_s: float) -> dict[str, Any]:
        self._drawn += 1
        weights = [weight for _, weight, _ in KINDS]
        kind, _, more = self._rng.choices(KINDS, weights)[0]
        seconds = round(self._rng.uniform(0.0, longest_s), 3)
        line = {"title": f"{kind} {self._drawn}", "key": f"chaos-{self._drawn}", "cwd": str(self._home), **more}
        if kind.startswith("python"):
            flaky = "flaky" if kind.endswith("flaky") else "ok"
            line |= {"python": f"{self._home / 'python_job.py'}:work", "args": [flaky, seconds]}
        else:
            word = "ok" if kind.startswith("checked") else kind
            line["run"] = ["bash", "job.sh", word, str(seconds)]
        if batch and self._rng.random() < CHAINED:
            line["after"] = [self._rng.choice(batch)["key"]]
        return line

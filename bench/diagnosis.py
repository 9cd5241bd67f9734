"""How much CPU a diagnosis takes: texts of 8 KB of many shapes, real ones among them, the first call, and 100 MB."""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from medbay.core.diagnosis import diagnose

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
SIZE = 8192
_RUNS = itertools.count()
REPEATS = 5
ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT.parent / "shared" / "corpus" / "failures_dev.jsonl"
OUTPUTS = ROOT / "tests" / "core" / "diagnosis"
LAST_LINES = (
    "connect ECONNREFUSED 127.0.0.1:5432",
    "src/app.ts(45,12): error TS2304: Cannot find name 'foo'.",
    "E   AssertionError: assert 1 == 2\n1 failed, 3 passed in 0.12s",
    "HTTP 429 Too Many Requests\nRetry-After: 120",
    "ModuleNotFoundError: No module named 'requests'",
    "No space left on device",
    "something that nobody has seen before",
)
RAISED = {
    "type": "ValueError",
    "message": "bad row",
    "traceback": 'Traceback (most recent call last):\n  File "/app/a.py", line 3, in f\nValueError: bad row',
}
FIRST_CALL = (
    "import time; began = time.process_time(); from datetime import UTC, datetime; "
    "from medbay.core.diagnosis import diagnose; diagnose('error: x failed', now=datetime.now(UTC), exit_code=1); "
    "print((time.process_time() - began) * 1000)"
)


def measure() -> list[str]:
    """CPU time of this process, the best of several runs of each text; other work on the machine still slows it."""
    noise = "\n".join(f"[{n:05}] step {n} of 400 done, 0 errors, cache hit ratio 0.{n % 97}" for n in range(200))
    groups = {
        "a long log and one failure": [f"{noise}\n{last}"[-SIZE:] for last in LAST_LINES],
        "one real output after a long log": [f"{noise}\n{text}"[-SIZE:] for text in _kept()][::5],
        "real outputs, several in one text": list(_joined(_kept())),
        "texts of 6 to 8 KB of the development set": [text for text in _texts(CORPUS) if len(text) >= 6000],
    }
    lines = [_row(name, texts) for name, texts in groups.items() if texts]
    large = (noise + "\n") * (100_000_000 // len(noise)) + LAST_LINES[0]
    first = subprocess.run([sys.executable, "-c", FIRST_CALL], capture_output=True, text=True, check=True, cwd=ROOT)
    return [
        *lines,
        f"100 MB: {_cpu_ms(_again(large)):.1f} ms (bar 100)",
        f"8 KB seen before: {_cpu_ms(lambda: diagnose(noise[-SIZE:], now=NOW, exit_code=1)):.3f} ms (bar 0.1)",
        f"a Python exception seen before: {_cpu_ms(lambda: diagnose('', now=NOW, result=RAISED)):.3f} ms (bar 0.1)",
        f"import and first call: {float(first.stdout):.0f} ms",
        f"for comparison, a bare loop of a million additions: {_cpu_ms(_loop):.0f} ms",
    ]


def _row(name: str, texts: list[str]) -> str:
    times = sorted(_cpu_ms(_again(text)) for text in texts)
    middle, late = statistics.median(times), times[int(len(times) * 0.99)]
    return f"8 KB, {name} ({len(texts)}): median {middle:.2f} ms (bar 1), p99 {late:.2f} ms (bar 10)"


def _again(text: str) -> Callable[[], object]:
    return lambda: diagnose(text, now=NOW, exit_code=1, runner=_anew())


def _anew() -> str:
    """Another runner each time, so that the text is read and not remembered."""
    return f"bench-{next(_RUNS)}"


def _cpu_ms(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(REPEATS):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best * 1000


def _loop() -> int:
    total = 0
    for number in range(1_000_000):
        total += number
    return total


def _texts(path: Path) -> Iterator[str]:
    if path.is_file():
        yield from (json.loads(line)["text"] for line in path.read_text("utf-8").splitlines())


def _kept() -> list[str]:
    return [text for name in sorted(OUTPUTS.glob("*_outputs.jsonl")) for text in _texts(name)]


def _joined(texts: list[str]) -> Iterator[str]:
    text = ""
    for piece in texts:
        text += piece
        if len(text) >= SIZE:
            yield text[-SIZE:]
            text = ""

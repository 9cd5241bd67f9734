"""One drill from its beginning to its end: every trial on its own ground, each judged, and nothing left behind."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from medbay.drill.ground import TrialBroken, TrialGround, end_marked, marked
from medbay.drill.promises import NOTHING_LEFT, PROMISES, Facts, Promise, TrialVerdict, judge
from medbay.drill.trials import TRIALS
from medbay.env import Ids, SystemClock
from medbay.errors import UsageError

AT_ONCE: Final = 3  # trials side by side: most of their time is waiting


def run(names: Sequence[str] = (), *, began: Callable[[str], None] = lambda name: None) -> Iterator[TrialVerdict]:
    """Make the trials, all or those that are named; their verdicts in order, at last that of what is left behind."""
    wanted = _wanted(names)
    mark = Ids().store()
    home = Path(tempfile.mkdtemp(prefix="medbay-drill-"))
    try:
        with ThreadPoolExecutor(AT_ONCE) as pool:

            def one(promise: Promise) -> TrialVerdict:
                began(promise.name)
                return _trial(promise, home, mark)

            try:
                yield from pool.map(one, wanted)
            except BaseException:  # interrupted: what runs is ended, and the trials with it
                end_marked(mark)
                raise
    finally:
        shutil.rmtree(home, ignore_errors=True)
    files = len(list(home.rglob("*"))) if home.exists() else 0
    yield judge(NOTHING_LEFT, {"processes": len(marked(mark)), "files": files})


def _wanted(names: Sequence[str]) -> list[Promise]:
    known = {promise.name: promise for promise in PROMISES}
    for name in names:
        if name not in known:
            raise UsageError(f'there is no trial "{name}"', hint=", ".join(known))
    return [promise for promise in PROMISES if not names or promise.name in names]


def _trial(promise: Promise, home: Path, mark: str) -> TrialVerdict:
    clock = SystemClock()
    begun_s = clock.monotonic_s()
    ground = TrialGround(home / promise.name.replace(" ", "-"), f"{mark}/{promise.name}")
    try:
        ground.settle()
        facts: Facts = TRIALS[promise.name](ground)
    except TrialBroken as error:
        facts = {"broken": str(error)}
    except Exception as error:  # a trial that fails in any other way is no PASS, and the others go on
        facts = {"broken": f"{type(error).__name__}: {error}"}
    finally:
        ground.close()
    return judge(promise, facts, clock.monotonic_s() - begun_s)

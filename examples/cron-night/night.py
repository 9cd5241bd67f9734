"""A night of somebody who moved from cron: `medbay import --crontab`, then the real engine and commands, virtual time.

In this night a shop is away twice, a disk is full, a program of a pipeline is missing, a token has expired and the
machine is started again. In the morning there are four questions, one for each thing that only a person can mend.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from medbay import app, wiring
from medbay.bay import Bay
from medbay.engine.identity import this_host
from medbay.engine.round import Engine
from medbay.sim.clock import VirtualClock

HERE = Path(__file__).parent
MINUTE, HOUR = 60_000, 3_600_000
EVENING, MORNING = 20, 7  # hours of the day
SECONDS_OF_A_NIGHT = 300.0  # real ones, at the most
WAITS_FOR_A_PERSON = [  # what it is, and how many jobs wait for it
    ("dependency_missing/command", 1),
    ("resource_exhaustion/disk", 2),
    ("transient/network", 3),
    ("unknown/auth", 3),
]

GET = """#!/bin/sh
# In place of curl: a server that is away while a file says so.
if [ -e "$HOME/away/$(echo "$1" | cut -d/ -f3)" ]; then
    echo "curl: (7) Failed to connect to $(echo "$1" | cut -d/ -f3) port 443: Connection refused" >&2
    exit 7
fi
echo '[]'
"""
GH = """#!/bin/sh
# In place of a client of GitHub: its token expires while a file says so.
if [ -e "$HOME/token-expired" ]; then
    echo "gh: Bad credentials (HTTP 401) (https://api.github.com/$2)" >&2
    exit 1
fi
echo '[]'
"""


class Clock(VirtualClock):
    """Virtual time that begins at a moment of this day; a machine that was started again counts from there."""

    def __init__(self, begin: datetime) -> None:
        super().__init__()
        self.jumped_ms = int(begin.timestamp() * 1000) - self.now_ms()
        self.booted_ms = -HOUR * 24 * 30

    def boottime_s(self) -> float:
        return (self.elapsed_ms - self.booted_ms) / 1000

    @property
    def moment(self) -> datetime:
        return datetime.fromtimestamp(self.now_ms() / 1000, tz=UTC)


class Night:
    """The machine, what happens to it, and the engine that runs on it."""

    def __init__(self, bay: Bay, clock: Clock, home: Path) -> None:
        self.bay, self.clock, self.home = bay, clock, home
        self.boots = 0
        self.engine = self._engine()

    def run(self, until: datetime) -> None:
        """Go from one event to the next, until the morning."""
        happens = sorted(self._plan(), key=lambda each: each[0])
        began = time.monotonic()
        while self.clock.moment < until:
            while happens and happens[0][0] <= self.clock.moment:
                happens.pop(0)[1]()
            self.engine.tick()
            if self.engine.live:  # a real command runs: time passes as it does for everybody
                time.sleep(0.002)
                self.clock.advance(20)
            else:
                wake_s = self.engine.next_wake_s()
                wait_ms = 10 * MINUTE if wake_s is None else round((wake_s - self.clock.monotonic_s()) * 1000)
                coming = happens[0][0] if happens else until
                left_ms = round((coming - self.clock.moment).total_seconds() * 1000)
                self.clock.advance(max(20, min(wait_ms, left_ms, 10 * MINUTE)))
            assert time.monotonic() - began < SECONDS_OF_A_NIGHT, "the night does not end"

    def close(self) -> None:
        self.engine.kill_all()
        self.engine.stop()

    def _plan(self) -> Iterator[tuple[datetime, Callable[[], None]]]:
        midnight = (self.clock.moment + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        shop = self.home / "away" / "shop.example.org"
        yield midnight - timedelta(minutes=115), shop.touch  # an outage that ends by itself
        yield midnight - timedelta(minutes=85), shop.unlink
        yield midnight + timedelta(hours=1), self._fill_disk
        yield midnight + timedelta(hours=2), (self.home / "token-expired").touch
        yield midnight + timedelta(hours=3, minutes=45), shop.touch  # and one that does not
        yield midnight + timedelta(hours=4, minutes=40), self._reboot

    def _fill_disk(self) -> None:
        for name in ("home.tgz", "mail.tgz"):  # what is written there fails as on a full disk
            (self.home / "backup" / name).symlink_to("/dev/full")

    def _reboot(self) -> None:
        """The power fails while a job runs; the machine is back three minutes later."""
        while not self.engine.live:
            self.engine.tick()
            self.clock.advance(1_000)
        self.engine.kill_all()
        self.clock.advance(3 * MINUTE)
        self.clock.booted_ms = self.clock.elapsed_ms - MINUTE
        self.boots += 1
        self.engine = self._engine()

    def _engine(self) -> Engine:
        host = replace(this_host(), boot_id=f"boot-{self.boots}")
        made = wiring.build_engine(self.bay.store, self.bay.place, clock=self.clock, host=host)
        made.start()
        return made


def main() -> int:
    """Import, live through the night, and show what a person finds."""
    folder = Path(tempfile.mkdtemp(prefix="cron-night-"))
    os.environ.update(HOME=str(folder), TZ="UTC")
    time.tzset()
    try:
        _furnish(folder)
        os.chdir(folder)
        _medbay("init")
        (folder / "medbay.toml").write_text('[engine]\nlease = "1d"\n', encoding="utf-8")
        # The evening may be tomorrow's: what would have run until then is no part of this night.
        _medbay("import", "--crontab", str(HERE / "crontab"), "--catch-up", "none")
        now = datetime.now(tz=UTC)
        evening = now.replace(hour=EVENING, minute=0, second=0, microsecond=0)
        clock = Clock(evening if evening > now else evening + timedelta(days=1))
        until = (clock.moment + timedelta(days=1)).replace(hour=MORNING)
        place = app.find_place(folder, store_url=None, environ=os.environ)
        with closing(Bay(place, clock=clock)) as bay:
            night = Night(bay, clock, folder)
            night.run(until)
            night.close()
            return _report(bay, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _report(bay: Bay, home: Path) -> int:
    """Show what waits for a person, and whether it is what has to wait for one."""
    asked = bay.inbox()
    for each in asked:
        print(f"? {each.need}\n    {each.evidence}\n    for {len(each.task_ids)} of the jobs")
    found = sorted((bay.get(each.task_ids[0]).last_category, len(each.task_ids)) for each in asked)
    ran = bay.select()
    print(f"{sum(each.attempts for each in ran)} runs of {len(ran)} jobs, {len(found)} questions")
    as_promised = {
        "four questions, each for all of its jobs": found == WAITS_FOR_A_PERSON,
        "no other was ever asked": bay.check().rows["question"] == len(WAITS_FOR_A_PERSON),
        "the job that a reboot cut off was run again": (home / "long-job-ended").exists(),
        "what is to run after a reboot ran": (home / "warmed-up").exists(),
        "nothing else needs a person": all(each.status != "blocked" for each in ran if not each.last_category),
    }
    for promise, kept in as_promised.items():
        print(f"{'kept' if kept else 'BROKEN'}: {promise}")
    return 0 if all(as_promised.values()) else 1


def _furnish(folder: Path) -> None:
    for name in ("bin", "mail", "backup", "away"):
        (folder / name).mkdir()
    (folder / "mail" / "inbox").write_text("an order\nanother order\n", encoding="utf-8")
    for name, text in (("get", GET), ("gh", GH)):
        (folder / "bin" / name).write_text(text, encoding="utf-8")
        (folder / "bin" / name).chmod(0o755)


def _medbay(*words: str) -> None:
    subprocess.run([Path(sys.executable).parent / "medbay", *words], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())

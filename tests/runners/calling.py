"""Drives the python runner in tests: a directory with a module of functions, and calls of them one by one."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from medbay.core.outcome import Outcome
from medbay.places.protocol import Identity, Launch
from medbay.places.tree import Trees
from medbay.runners.python.call import PythonRunning
from medbay.runners.python.runner import PythonRunner
from tests.runners.driving import finish, launch

# Every test's functions; each says with its name what it does.
JOBS = """
import ctypes, os, signal, subprocess, sys, threading, time
import medbay

def pid(): return os.getpid()
def add(a, b=0): return {"sum": a + b}
def speak(word):
    print("out", word); print("err", word, file=sys.stderr)
    os.system(f"echo child {word}"); os.write(1, f"raw {word}\\n".encode())
@medbay.task
def decorated(): raise ValueError("wrong")
def read(): return [sys.stdin.read(), sys.argv]
def fail():
    try: {}["gone"]
    except KeyError as error: raise ValueError("wrong \\udc80 value") from error
def seen(): return {
    "cwd": os.getcwd(), "path": sys.path[0],
    "env": {k: v for k, v in os.environ.items() if "MEDBAY" in k or k == "OWN"},
    "umask": os.umask(0o22), "term": str(signal.getsignal(signal.SIGTERM)), "out": sys.stdout is sys.__stdout__}
def disturb():
    os.chdir("/"); os.environ["OWN"] = "left"; os.environ.pop("HOME", None); sys.path.insert(0, "/nowhere")
    os.umask(0); signal.signal(signal.SIGTERM, signal.SIG_IGN); sys.stdout = open(os.devnull, "w")
    return os.getpid()
def close_streams(): sys.stdout.close(); return os.getpid()
def leave(code): os._exit(code)
def exits(code): sys.exit(code)
def segfault(): ctypes.string_at(0)
def killed(): os.kill(os.getpid(), signal.SIGKILL)
def stubborn():
    signal.signal(signal.SIGTERM, signal.SIG_IGN); subprocess.Popen(["sleep", "300"], start_new_session=True)
    print("deaf", flush=True); time.sleep(300)
def sleeps(seconds): time.sleep(seconds); return "slept"
def greedy():
    held = []
    while True: held.append(bytearray(20_000_000)); time.sleep(0.005)
def spins():
    while True: pass
def leaves_thread(): threading.Thread(target=time.sleep, args=(300,)).start(); return os.getpid()
def leaves_child(): return [os.getpid(), subprocess.Popen(["sleep", "300"]).pid]
def leaves_orphan():
    os.system("sleep 300 & echo $! > orphan"); return [os.getpid(), int(open("orphan").read())]
def joins():
    each = threading.Thread(target=time.sleep, args=(0.01,)); each.start(); each.join()
    subprocess.run(["true"]); return os.getpid()
def forks():
    if os.fork() == 0: return "from the child"
    os.wait(); return "from the parent"
def forks_and_raises():
    if os.fork() == 0: raise ValueError("in the child")
    time.sleep(0.1); return "fine"
def odd(kind):
    return {"set": {1}, "nan": float("nan"), "large": "x" * 1_000_001, "deep": None}[kind] if kind != "deep" else deep()
def deep():
    found = []
    for _ in range(100_000): found = [found]
    return found
def again(after): raise medbay.TryAgain("the mirror is busy", after=after)
def again_returned(): return medbay.TryAgain("later")
def interrupted(): raise KeyboardInterrupt
def interrupts_itself(): os.kill(os.getpid(), signal.SIGINT); time.sleep(5)
async def waits(): import asyncio; await asyncio.sleep(0.001); return "awaited"
def endless(n=0): return endless(n + 1)
def speaks_result(): open(os.environ["MEDBAY_RESULT"], "w").write('{"artifacts": ["a.txt"]}'); return 5
def closes_everything(): os.closerange(3, 256); time.sleep(300)
def mark(): return [e for e in open("/proc/self/environ").read().split("\\0") if "ATTEMPT_KEY" in e]
value = 5
"""


class Caller:
    """A python runner, a module `jobs` in a directory of its own, and how to call what is in it."""

    def __init__(self, home: Path, runner: PythonRunner) -> None:
        self.home = home
        self.runner = runner
        self.number = 0
        (home / "jobs.py").write_text(JOBS, encoding="utf-8")

    def launch(self, function: str, *args: Any, isolated: bool = False, **changes: Any) -> Launch:
        """The next attempt, with a log of its own."""
        self.number += 1
        target = function if ":" in function else f"jobs:{function}"
        command = changes.pop("command", None) or (target, json.dumps(args), *(("isolated",) if isolated else ()))
        values = {
            "runner": "python",
            "number": self.number,
            "log_path": f"{self.home}/logs/{self.number}.log",
            "result_path": f"{self.home}/logs/{self.number}.json",
        }
        return launch(self.home, command, **{**values, **changes})

    def start(self, function: str, *args: Any, **changes: Any) -> PythonRunning:
        """Start a call now."""
        return self.runner.start(self.launch(function, *args, **changes), time.monotonic())

    def __call__(self, function: str, *args: Any, **changes: Any) -> Outcome:
        """A call to its end."""
        return finish(self.start(function, *args, **changes))

    def value(self, function: str, *args: Any, **changes: Any) -> Any:
        """What a call returned."""
        outcome = self(function, *args, **changes)
        assert outcome.output.result is not None
        assert "value" in outcome.output.result, outcome
        return outcome.output.result["value"]


def maker(running: PythonRunning) -> Identity:
    """The process that makes a call, or made it."""
    assert running.worker is not None
    return running.worker.child.identity


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Caller]:
    """A caller with a short grace period; nothing of it is left afterwards."""
    runner = PythonRunner(Trees(0.3))
    yield Caller(tmp_path, runner)
    runner.close()

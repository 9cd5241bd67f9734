"""The trials: each makes one thing go wrong in earnest and brings home the facts. What they mean is not judged here."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from datetime import datetime
from resource import RLIMIT_FSIZE, prlimit
from typing import Any, Final

from medbay.drill.ground import COMMAND_S, CRASH_BUDGET, GRACE_S, LEASE_S, SETTINGS, TrialGround, is_alive
from medbay.drill.promises import Facts

Trial = Callable[[TrialGround], Facts]
CONNECT: Final = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5).close()"
EAT: Final = "import time\nkept = []\nwhile True:\n    kept.append(bytearray(8_000_000))\n    time.sleep(0.01)\n"
NAMED_S: Final = 3
LIMIT_S: Final = 2
MANY: Final = 12
SHARED: Final = 16
CANARIES_ALLOWED: Final = 8  # what was under way when the cause was noticed, and probes
JUMPY_SEEDS: Final = (3, 8, 13)  # worlds whose clock jumps
WAYS: Final = ("limit", "hang", "crash", "lie", "cut")
# By the title of its task it fails once: a file beside it says that it did.
AGENT: Final = """import json, os, pathlib, sys, time
way = sys.stdin.read().split("\\n")[0].lstrip("# ")
met = pathlib.Path(f"met-{way}")
def tell(**record):
    print(json.dumps(record), flush=True)
tell(type="system", subtype="init", session_id=f"drill-{way}", model="drill")
usage = {"input_tokens": 100, "output_tokens": 10}
words = [{"type": "text", "text": "All done."}]
tell(type="assistant", message={"id": f"m{met.exists()}", "model": "drill", "usage": usage, "content": words})
end = dict(type="result", subtype="success", is_error=False, result="All done.", session_id=f"drill-{way}", num_turns=1)
if not met.exists():
    met.touch()
    if way == "limit":
        said = f"usage limit reached|{int(time.time()) + 2}"
        tell(**{**end, "is_error": True, "api_error_status": 429, "result": said})
        sys.exit(1)
    if way == "hang":
        time.sleep(300)
    if way == "crash":
        os.kill(os.getpid(), 9)
    if way == "lie":
        tell(**{**end, "is_error": True, "result": "API Error: 500 Internal server error"})
        sys.exit(0)
    sys.exit(0)
tell(**end)
"""
DISK_BYTES: Final = 6_000_000


def refused_port(ground: TrialGround) -> Facts:
    """A service is not up yet."""
    with closing(_port()) as port:
        task_id = ground.add("needs a port", _connect(port))
        daemon = ground.start("up", "--until-idle")
        ground.until(lambda: ground.task(task_id)["attempts_total"] >= 1, "the first attempt")
        ground.until(lambda: ground.task(task_id)["consecutive_failures"] >= 1, "the first failure")
        port.listen()
        ground.ended(daemon)
    return _healed(ground, task_id)


def rate_limit(ground: TrialGround) -> Facts:
    """An interface says when it may be asked again."""
    said = f"echo '429 Too Many Requests'; echo 'Retry-After: {NAMED_S}'; exit 1"
    task_id = ground.add("is limited", f"test -e met || {{ touch met; {said}; }}")
    ground.ended(ground.start("up", "--until-idle"))
    facts = _healed(ground, task_id)
    first, second = (ground.task(task_id)["attempts"] + [{}, {}])[:2]
    waited_s = (_moment(second["started_at"]) - _moment(first["ended_at"])) if second else 0.0
    return {**facts, "named_s": NAMED_S, "waited_s": round(waited_s, 2)}


def hang(ground: TrialGround) -> Facts:
    """A command never ends, and has started others."""
    stuck = "touch met; (setsid sleep 300 &) ; sleep 300 & sleep 300"
    task_id = ground.add("hangs", f"test -e met || {{ {stuck}; }}", timeout=f"{LIMIT_S}s")
    ground.ended(ground.start("up", "--until-idle"))
    first = ground.task(task_id)["attempts"][0]
    took = {"outcome": first["outcome"], "took_s": first["duration_s"], "limit_s": LIMIT_S, "grace_s": GRACE_S + 2}
    return {**_healed(ground, task_id), **took}


def memory_limit(ground: TrialGround) -> Facts:
    """A command takes more memory than it may."""
    (ground.home / "eat.py").write_text(EAT, encoding="ascii")
    line = f"test -e met || {{ touch met; exec '{sys.executable}' eat.py; }}"
    task_id = ground.add("eats", line, memory="150M", timeout="30s")
    ground.ended(ground.start("up", "--until-idle"))
    return _healed(ground, task_id)


def outage(ground: TrialGround) -> Facts:
    """Many tasks need one service, which is away."""
    with closing(_port()) as port:
        lines = (json.dumps({"title": f"task {number}", "run": _connect(port)}) for number in range(MANY))
        ground.medbay("add", "--file", "-", stdin="\n".join(lines))
        daemon = ground.start("up", "--until-idle")
        ground.until(lambda: bool(ground.json("incidents")), "an incident")
        ground.until(lambda: not _running(ground), "the end of what ran")
        while_down = sum(each["attempts"] for each in ground.json("list"))
        port.listen()
        ground.ended(daemon, 2 * COMMAND_S)
    tasks = ground.json("list")
    return {
        "tasks": MANY,
        "completed": sum(each["status"] == "completed" for each in tasks),
        "attempts_while_down": while_down,
        "canaries_allowed": CANARIES_ALLOWED,
        "incidents": len(ground.json("incidents", "--all")),
        "charged": sum(each["charged_failures"] for each in tasks),
        "questions": len(ground.json("inbox")),
        "left": ground.left(),
    }


def kill(ground: TrialGround) -> Facts:
    """The daemon is killed in the middle of a task."""
    # One that was killed and that nobody has asked how it ended is no process any more: Z.
    state = "$(cut -d' ' -f3 /proc/$(cat pid)/stat 2>/dev/null)"
    again = f'case "{state}" in ""|Z|X) ;; *) echo "{state}" > together ;; esac; exit 0'
    line = f"if test -e pid; then {again}; fi; echo $$ > pid.new; mv pid.new pid; exec sleep 300"
    task_id = ground.add("is cut off", line)
    daemon = ground.start("up")
    ground.until(lambda: (ground.home / "pid").exists(), "the start of the task")
    pid = int((ground.home / "pid").read_text())
    os.kill(daemon.pid, signal.SIGKILL)
    ground.ended(daemon)
    next_one = ground.start("up", "--until-idle")
    outlived_s = ground.until(lambda: not is_alive(pid), "the end of its process", LEASE_S + 10)
    ground.ended(next_one)
    found = ground.task(task_id)
    return {
        "outlived_s": outlived_s,
        "lease_s": LEASE_S,
        "first": found["attempts"][0]["outcome"],
        "status": found["status"],
        "attempts": found["attempts_total"],
        "together": 2 if (ground.home / "together").exists() else 1,
        "left": ground.left(),
    }


def killer(ground: TrialGround) -> Facts:
    """A task kills the engine that runs it, every time."""
    task_id = ground.add("kills its engine", "kill -9 $PPID; sleep 20")
    beside = ground.add("stands beside it", "true")
    codes = [ground.ended(ground.start("up", "--until-idle"))]
    while codes[-1] == -signal.SIGKILL and len(codes) <= CRASH_BUDGET + 2:
        codes.append(ground.ended(ground.start("up", "--until-idle")))
    found = ground.task(task_id)
    return {
        "deaths": codes.count(-signal.SIGKILL),
        "budget": CRASH_BUDGET,
        "status": found["status"],
        "block_kind": found["block_kind"],
        "questions": len(ground.json("inbox")),
        "bystander": ground.task(beside)["status"],
        "left": ground.left(),
    }


def agent(ground: TrialGround) -> Facts:
    """An agent that hits a limit, hangs, crashes and lies, each once: it writes the record that Claude Code writes."""
    program = ground.home / "agent.py"
    program.write_text(f"#!{sys.executable}\n{AGENT}", encoding="ascii")
    program.chmod(0o700)
    with open(ground.home / "medbay.toml", "a", encoding="ascii") as settings:
        settings.write(f'[agents.drilled]\npreset = "claude"\nprogram = "{program}"\nprovider = "drilled/one"\n')
    ids = {}
    for way in WAYS:
        line = {"title": way, "agent": "drilled", "timeout": f"{4 * LIMIT_S}s", "stall": f"{LIMIT_S}s"}
        ids[way] = ground.medbay("add", "--file", "-", stdin=json.dumps(line)).out.strip()
    ground.ended(ground.start("up", "--until-idle"))
    tasks = {way: ground.task(task_id) for way, task_id in ids.items()}
    first = {way: each["attempts"][0]["outcome"] for way, each in tasks.items()}
    return {
        "tasks": len(tasks),
        "completed": sum(each["status"] == "completed" for each in tasks.values()),
        "believed": [way for way, outcome in first.items() if outcome == "succeeded"],
        "first": first,
        "firsts": ", ".join(f"{way} {outcome}" for way, outcome in first.items()),
        "limit_charged": bool(tasks["limit"]["attempts"][0]["charged"]),
        "tokens": sum(each["tokens_in"] or 0 for task in tasks.values() for each in task["attempts"]),
        "questions": len(ground.json("inbox")),
        "left": ground.left(),
    }


def two_daemons(ground: TrialGround) -> Facts:
    """Two daemons work on one store."""
    lines = (json.dumps({"title": f"task {number}", "run": "echo x >> runs; sleep 0.4"}) for number in range(SHARED))
    ground.medbay("add", "--file", "-", stdin="\n".join(lines))
    daemons = [ground.start("up", "--until-idle", "--workers", "2") for _ in range(2)]
    codes = [ground.ended(each) for each in daemons]
    events = [json.loads(line) for line in ground.medbay("events", "--since", "0", "--json").out.splitlines()]
    started = {each["data"]["worker"] for each in events if each["name"] == "task:started"}
    return {
        "tasks": SHARED,
        "runs": len((ground.home / "runs").read_text().splitlines()),
        "completed": sum(each["status"] == "completed" for each in ground.json("list")),
        "daemons": len(started),
        "exit_codes": codes,
        "left": ground.left(),
    }


def clock_jump(ground: TrialGround) -> Facts:
    """The clock jumps, again and again, in virtual time: the real engine and store in the simulator."""
    from medbay.sim.plan import HOUR, draw
    from medbay.sim.world import World

    facts: dict[str, Any] = {"jumps": 0, "hours": 0, "tasks": 0, "broken_promise": ""}
    for seed in JUMPY_SEEDS:
        world = World(draw(seed))
        report = world.run()
        facts["jumps"] += world.clock.jumps
        facts["hours"] += report.virtual_ms // HOUR
        facts["tasks"] += report.tasks
        facts["broken_promise"] = facts["broken_promise"] or str(report.broken or "")
    return facts


def full_disk(ground: TrialGround) -> Facts:
    """The disk of the store is full while a task runs."""
    disk = _small_disk(ground)
    if disk is None:
        return _full_file(ground)
    ground.inside = disk
    fill = "cat /dev/zero > ballast 2>/dev/null; true"
    return _meanwhile(
        ground,
        "a disk of 6 MB",
        full=lambda daemon: _inside(ground, fill),
        room=lambda daemon: _inside(ground, "rm -f ballast"),
        refused=(),
    )


def _full_file(ground: TrialGround) -> Facts:
    """Without a small disk: no file of the daemon, and of the command that adds, may grow any more."""
    limits: dict[int, tuple[int, int]] = {}

    def full(daemon: subprocess.Popen[str]) -> None:
        limits[daemon.pid] = prlimit(daemon.pid, RLIMIT_FSIZE, (0, prlimit(daemon.pid, RLIMIT_FSIZE)[1]))

    def room(daemon: subprocess.Popen[str]) -> None:
        prlimit(daemon.pid, RLIMIT_FSIZE, limits[daemon.pid])

    try:
        limited = ("sh", "-c", 'ulimit -f 0; exec "$@"', "sh")
        return _meanwhile(ground, "files that may not grow", full=full, room=room, refused=limited)
    except PermissionError:
        return {"skipped": "neither a small disk nor a limit of files can be made here"}


def _meanwhile(
    ground: TrialGround,
    how: str,
    *,
    full: Callable[[subprocess.Popen[str]], object],
    room: Callable[[subprocess.Popen[str]], object],
    refused: tuple[str, ...],
) -> Facts:
    """A task runs, there is no room for anything, a task is added; then there is room again."""
    outside = ground.home.parent / f"{ground.home.name}.outside"
    outside.mkdir()
    try:
        line = f"echo $$ >> '{outside}/runs'; while ! test -e '{outside}/go'; do sleep 0.1; done"
        task_id = ground.add("runs meanwhile", line)
        daemon = ground.start("up")
        ground.until(
            lambda: (outside / "runs").exists() and (outside / "runs").stat().st_size > 0, "the start of a task"
        )
        pid = int((outside / "runs").read_text().split()[0])
        full(daemon)
        before, ground.inside = ground.inside, (*ground.inside, *refused)
        denied = ground.medbay("add", "has no room", "--run", "true", "--description", "x" * 100_000)
        ground.inside = before
        (outside / "go").touch()
        ground.until(lambda: not is_alive(pid), "the end of the task")
        room(daemon)
        after = ground.add("comes afterwards", "true")
        ground.until(lambda: ground.task(after)["status"] == "completed", "the task that came afterwards")
        ground.until(lambda: ground.task(task_id)["status"] == "completed", "the task that ran meanwhile")
        daemon.terminate()
        ground.ended(daemon)
        return {
            "how": how,
            "refused_code": denied.code,
            "traceback": "Traceback" in denied.err,
            "lost": 2 - len(ground.json("list")) if denied.code else 0,
            "status": ground.task(task_id)["status"],
            "after": ground.task(after)["status"],
            "runs": len((outside / "runs").read_text().splitlines()),
            "left": max(0, ground.left() - ground.held),
        }
    finally:
        for each in outside.iterdir():
            each.unlink()
        outside.rmdir()


def _small_disk(ground: TrialGround) -> tuple[str, ...] | None:
    """What starts a command in a namespace in which the directory is a small disk; None where that cannot be had."""
    mount = f"mount -t tmpfs -o size={DISK_BYTES} tmpfs '{ground.home}' && echo ready && exec sleep 600"
    with suppress(OSError):
        holder = ground.hold(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount])
        if holder.stdout is None or holder.stdout.readline() != "ready\n":
            return None
        enter = f"nsenter -t {holder.pid} -U -m --preserve-credentials -- sh -c".split()
        enter += ['cd "$0" && exec "$@"', str(ground.home)]
        made = ["sh", "-c", "mkdir .medbay && cat > medbay.toml"]
        done = subprocess.run([*enter, *made], input=SETTINGS, text=True, capture_output=True, timeout=COMMAND_S)
        return tuple(enter) if done.returncode == 0 else None
    return None


def _inside(ground: TrialGround, line: str) -> None:
    subprocess.run([*ground.inside, "sh", "-c", line], check=False, timeout=COMMAND_S)


def _healed(ground: TrialGround, task_id: str) -> dict[str, Any]:
    found = ground.task(task_id)
    first = (found["attempts"][0].get("diagnosis") or {}) if found["attempts"] else {}
    return {
        "status": found["status"],
        "attempts": found["attempts_total"],
        "category": first.get("category"),
        "subcategory": first.get("subcategory"),
        "charged": sum(bool(each["charged"]) for each in found["attempts"]),
        "questions": len(ground.json("inbox")),
        "left": ground.left(),
    }


def _port() -> socket.socket:
    """A port that is ours and refuses everybody until it listens."""
    port = socket.socket()
    port.bind(("127.0.0.1", 0))
    return port


def _connect(port: socket.socket) -> list[str]:
    return [sys.executable, "-c", CONNECT, str(port.getsockname()[1])]


def _running(ground: TrialGround) -> bool:
    return any(each["status"] == "in_progress" for each in ground.json("list"))


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


TRIALS: Final[Mapping[str, Trial]] = {
    "refused port": refused_port,
    "rate limit": rate_limit,
    "full disk": full_disk,
    "hang": hang,
    "memory limit": memory_limit,
    "outage": outage,
    "kill -9": kill,
    "clock jump": clock_jump,
    "killer": killer,
    "agent": agent,
    "two daemons": two_daemons,
}

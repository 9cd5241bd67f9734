"""`docs/benchmarks.md`, its pictures and its figures as JSON, from the results of one run side by side."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench import plots, targets
from bench.plots import Bar
from bench.scenarios import SCENARIOS
from bench.targets import Verdict

Result = dict[str, Any]
DOCS = Path(__file__).resolve().parents[1] / "docs"
INTRO = """# Benchmarks

Medbay beside other task queues on the same scenarios, in one run on one machine, in turns (ours, a peer, ours, the next
peer, ours). Every figure was measured by the command named beside its scenario below, which writes this page:

    make bench ARGS="peers --peers DIR"      # DIR: the folder with the peers' scripts, run.sh PEER SCENARIO
    make bench ARGS="A B C D E F"            # ours alone, without any peer

Medbay is durable throughout: what was acknowledged survives a loss of power. SQLite syncs every commit, PostgreSQL runs
as it comes. Each run uses `medbay up` as a user starts it, with the shipped configuration (scenario B: with every delay
0), and fails if a breaker, a hold or an incident opened or a question was asked. A task counts as done when the store
says so; for huey and the others without a store of results, when its function ran.

The machines are shared and noisy. Compare figures within one run only, and look at the CPU time per task, which
includes child processes that have ended.

On ext4 a new file costs more for each removed near it in the last five minutes, and scenario B counts in files:
what a run leaves is kept until all are done, and a benchmark begun right after another one is slower, ours and theirs.

The load beside each figure is the machine's at that moment. Where it is far above the number of processors, absolute
rates and times say little.
"""
KINDS = {
    ("A", "sqlite"): ("drain_per_s", "No-op functions done per second"),
    ("B", "sqlite"): ("e2e_per_s", "Tasks that fail twice and then succeed, per second, adding included"),
    ("C", "sqlite"): ("drain_per_s", "/bin/true with its output and exit code recorded, per second"),
    ("A", "postgres"): ("drain_per_s", "On PostgreSQL: no-op functions done per second"),
    ("B", "postgres"): ("e2e_per_s", "On PostgreSQL: tasks that fail twice and then succeed, per second"),
    ("C", "postgres"): ("drain_per_s", "On PostgreSQL: /bin/true with its output and exit code, per second"),
}
RATES = ("enqueue_per_s", "drain_per_s", "e2e_per_s", "worker_cpu_ms_per_task", "enqueue_cpu_ms_per_task")


def write(
    results: Sequence[Result], *, machine: str, day: str, command: str = "", docs: Path = DOCS, add: bool = False
) -> list[Path]:
    """Write everything; which files. With `add` the scenarios that were not measured now keep what they had."""
    figures = docs / "benchmarks.json"
    found = [{**each, "day": day, "command": command} for each in results]
    if add and figures.exists():
        again = {(each["scenario"], each["store"]) for each in results}
        before = json.loads(figures.read_text("utf-8"))["results"]
        found += [each for each in before if (each["scenario"], each["store"]) not in again]
    order = list(SCENARIOS)
    found.sort(key=lambda each: (each["store"] != "sqlite", order.index(each["scenario"])))
    kept = {"machine": machine, "day": day, "results": found}
    figures.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return [figures, *render(kept, docs=docs)]


def render(kept: dict[str, Any], *, docs: Path = DOCS) -> list[Path]:
    """The page and its pictures from figures that were kept."""
    results: list[Result] = kept["results"]
    ours = [each for each in results if each["peer"].startswith("medbay-")]
    peers = [each for each in results if each not in ours]
    judged = targets.verdicts([each for each in ours if "failed" not in each], peers)
    pictures = _pictures(results, judged, docs / "pictures")
    parts = [INTRO, f"Measured on {kept['day']}: {kept['machine']}.\n", "## Against the targets\n", *_judged(judged)]
    parts += ["", "## Rates and CPU time\n", *_rates(results)]
    parts += [f"\n![{title}](pictures/{path.name})" for path, title in pictures]
    parts += ["", "## The other scenarios\n", *_others(results), "", "## Settings\n", *_settings(results), ""]
    page = docs / "benchmarks.md"
    page.write_text("\n".join(parts), encoding="utf-8")
    return [page, *(path for path, _ in pictures)]


def _judged(found: Iterable[Verdict]) -> list[str]:
    words = {True: "✓ met", False: "✗ missed", None: "–"}
    lines = ["| | store | what | measured | target | of the target | |", "|---|---|---|---|---|---|---|"]
    for each in found:
        target = each.target
        measured = "–" if each.measured is None else f"{targets.figure(each.measured)}{target.unit}"
        share = f"{each.measured / each.bar:.2f}" if each.measured is not None and each.bar else "–"
        bar = targets.bar_words(each).replace(">=", "≥").replace("<=", "≤")
        row = (target.scenario, target.store, target.what, measured, bar, share, words[each.met])
        lines.append(f"| {' | '.join(row)} |")
    return lines


def _rates(results: Iterable[Result]) -> list[str]:
    lines = [
        "Medians, least and most in brackets. CPU in milliseconds of one processor per task.\n",
        "| | store | who | adds/s | done/s | both/s | CPU, doing | CPU, adding | n | load |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for each in results:
        if each["scenario"] not in "ABC" or "failed" in each:
            continue
        cells = [_spread(each.get(name)) for name in RATES]
        load = each.get("load1")
        loads = "–".join(str(edge) for edge in sorted({min(load), max(load)})) if isinstance(load, list) else str(load)
        row = (each["scenario"], each["store"], each["peer"], *cells, f"{each['n']:,}", loads)
        lines.append(f"| {' | '.join(row)} |")
    return lines


def _spread(found: Any) -> str:
    if not isinstance(found, dict):
        return "–"
    middle, least, most = (targets.figure(found[name], digits=3) for name in ("median", "min", "max"))
    return middle if least == most else f"{middle} ({least}–{most})"


def _others(results: Iterable[Result]) -> list[str]:
    """D to F and W as they were told, without what is the same for all."""
    same = {"peer", "scenario", "store", "load1", "settings", "day", "command"}
    lines = []
    for each in results:
        if each["scenario"] not in "ABC" or "failed" in each:
            what = SCENARIOS[each["scenario"]].what
            figures = json.dumps({name: value for name, value in each.items() if name not in same})
            lines.append(
                f"- **{each['scenario']}** ({what}), {each['peer']}, load {each.get('load1', '–')}: `{figures}`"
            )
    return lines


def _settings(results: Iterable[Result]) -> list[str]:
    kept = list(results)
    told = {each["peer"]: each["settings"] for each in kept if "settings" in each}
    run = {f"{each['scenario']} on {each['store']}": each for each in kept}
    lines = [f"- {peer}: {settings}" for peer, settings in told.items()]
    return lines + [f'- {what}: `make bench ARGS="{each["command"]}"`, {each["day"]}' for what, each in run.items()]


def _pictures(results: Sequence[Result], judged: Iterable[Verdict], folder: Path) -> list[tuple[Path, str]]:
    bars = {(each.target.scenario, each.target.store, each.target.figure): each.bar for each in judged}
    made = []
    for (scenario, store), (figure, title) in KINDS.items():
        found = [each for each in results if (each["scenario"], each["store"]) == (scenario, store)]
        drawn = [_bar(each, figure) for each in found if isinstance(each.get(figure), dict)]
        if not drawn:
            continue
        runs = ", ".join(f"{each['peer']} n={each['n']:,} × {each[figure]['n']}" for each in found if figure in each)
        path = folder / f"benchmark-{scenario.lower()}-{store}.svg"
        path.parent.mkdir(exist_ok=True)
        path.write_text(plots.chart(title, runs, drawn, target=bars.get((scenario, store, figure))), encoding="utf-8")
        made.append((path, title))
    return made


def _bar(result: Result, figure: str) -> Bar:
    found = result[figure]
    ours = result["peer"].startswith("medbay-")
    return Bar("medbay" if ours else result["peer"], found["median"], found["min"], found["max"], ours)

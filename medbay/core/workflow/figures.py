"""Figures over stories: how long phases take, what they cost, how often gates pass, how many review rounds it takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from medbay.core.workflow.records import PhaseRun, Story


class PhaseFigures(Struct, frozen=True, kw_only=True):
    """All runs of one phase."""

    phase: str
    runs: int
    passed: int
    median_ms: int
    longest_ms: int
    tokens: int


class StoryFigures(Struct, frozen=True, kw_only=True):
    """What became of the stories of some time."""

    stories: int
    completed: int
    cancelled: int
    cycle_median_ms: int | None  # from the start of its first phase to completed
    tokens: int
    gates: int
    gates_passed: int
    rounds: float | None  # reviews per story that had any
    phases: tuple[PhaseFigures, ...]

    @property
    def gate_pass_rate(self) -> float | None:
        """The share of gates that passed; None where there was none."""
        return self.gates_passed / self.gates if self.gates else None


def summed(
    stories: Sequence[Story],
    runs: Mapping[str, Sequence[PhaseRun]],
    *,
    gates: Collection[str],
    reviews: Collection[str],
) -> StoryFigures:
    """The figures of these stories. `gates` and `reviews` are the names of the phases that are such."""
    ended = [run for story in stories for run in runs.get(story.id, ()) if run.ended_at is not None]
    at_gate = [run for run in ended if run.phase in gates and run.status in ("PASS", "FAIL")]
    done = [story for story in stories if story.status == "completed"]
    rounds = [sum(run.phase in reviews for run in runs.get(story.id, ())) for story in stories]
    reviewed = [each for each in rounds if each]
    cycles = [
        story.ended_at - runs[story.id][0].started_at
        for story in done
        if story.ended_at is not None and runs.get(story.id)
    ]
    return StoryFigures(
        stories=len(stories),
        completed=len(done),
        cancelled=sum(story.status in ("cancelled", "superseded") for story in stories),
        cycle_median_ms=median(cycles) if cycles else None,
        tokens=sum(run.tokens for run in ended),
        gates=len(at_gate),
        gates_passed=sum(run.status == "PASS" for run in at_gate),
        rounds=sum(reviewed) / len(reviewed) if reviewed else None,
        phases=tuple(
            _phase(name, [run for run in ended if run.phase == name])
            for name in dict.fromkeys(run.phase for run in ended)
        ),
    )


def median(values: Sequence[int]) -> int:
    """The value in the middle; of an even number the lower one."""
    return sorted(values)[(len(values) - 1) // 2]


def _phase(name: str, runs: Sequence[PhaseRun]) -> PhaseFigures:
    took = [max(0, (run.ended_at or 0) - run.started_at) for run in runs]
    return PhaseFigures(
        phase=name,
        runs=len(runs),
        passed=sum(run.status == "PASS" for run in runs),
        median_ms=median(took),
        longest_ms=max(took),
        tokens=sum(run.tokens for run in runs),
    )

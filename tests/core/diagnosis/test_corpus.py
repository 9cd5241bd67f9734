"""Scores on collected outputs: the development set where it is at hand, and the outputs kept here."""

from __future__ import annotations

import importlib.util
import warnings
from collections import defaultdict
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from medbay.core.diagnosis import Diagnosis
from tests.core.diagnosis.carry_over import leave_one_tool_out
from tests.core.diagnosis.samples import HERE, read_jsonl, same_file, why

CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus"
OUTPUTS = (
    "real_outputs", "written_outputs", "further_outputs", "unlisted_outputs", "common_outputs", "fresh_outputs"
)  # fmt: skip


@cache
def development_set() -> tuple[ModuleType, list[dict[str, Any]], dict[str, Diagnosis], dict[str, Any]]:
    """The scorer, the items, our diagnoses of items and reruns, and the score."""
    if not CORPUS.is_dir():
        warnings.warn(f"NO CORPUS at {CORPUS}: the bars of the diagnosis are NOT checked", stacklevel=2)
        pytest.skip(f"no corpus at {CORPUS}")
    spec = importlib.util.spec_from_file_location("corpus_score", CORPUS / "score.py")
    assert spec is not None
    assert spec.loader is not None
    scorer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scorer)
    items = read_jsonl(CORPUS / "failures_dev.jsonl")
    reruns = read_jsonl(CORPUS / "failures_dev_rerun.jsonl")
    ours = {item["id"]: why(item["text"], exit_code=item["exit_code"]) for item in items + reruns}
    told = {name: prediction(name, found) for name, found in ours.items()}
    return scorer, items, ours, scorer.score(items, told, reruns)


def prediction(name: str, found: Diagnosis) -> dict[str, Any]:
    """A diagnosis as the scorer reads it."""
    place = found.location
    return {
        "id": name,
        "category": found.category,
        "location": {"file": place.file, "line": place.line} if place else None,
        "fingerprint": found.fingerprint,
    }


def test_the_bars_of_the_development_set_hold() -> None:
    """Accuracy, macro-F1, locations and stable fingerprints."""
    _, _, _, score = development_set()

    assert score["seed7"]["accuracy"] >= 0.97
    assert score["seed7"]["macro_f1"] >= 0.97
    assert score["location"]["required"]["accuracy"] >= 0.95
    assert score["fingerprint"]["stability"] >= 0.97
    assert score["fingerprint"]["collision_rate"] < 0.001
    assert score["seed7_accuracy_by_tag"]["tricky"]["accuracy"] >= 0.9
    assert score["seed7_accuracy_by_tag"]["passing"]["accuracy"] >= 0.9


def in_bands(judged: list[tuple[float, bool]]) -> list[tuple[float, float, int]]:
    """The mean confidence, the share that is right and the number of each band of 0.1."""
    bands: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for confidence, right in judged:
        bands[int(confidence * 10)].append((confidence, right))
    return [
        (sum(stated for stated, _ in band) / len(band), sum(right for _, right in band) / len(band), len(band))
        for band in bands.values()
    ]


def test_confidence_promises_no_more_than_it_keeps() -> None:
    """In no band of 0.1 fewer are right than stated, less 0.1. The rules have learned from these: more may be right."""
    _, items, ours, _ = development_set()
    judged = [(ours[item["id"]].confidence, ours[item["id"]].category == item["seed_category"]) for item in items]
    for name in OUTPUTS:
        for item in read_jsonl(HERE / f"{name}.jsonl"):
            found = why(item["text"], exit_code=item["exit_code"])
            judged.append((found.confidence, found.category in item["accept"]))

    for stated, right, count in in_bands(judged):
        assert right >= stated - 0.1 or count < 10, (stated, right, count)


def test_a_person_is_called_where_the_rules_are_right() -> None:
    """Of what is said with 0.8 and more at least nine in ten are right, and far more than of what is doubted."""
    _, items, ours, _ = development_set()
    judged = [
        (ours[item["id"]].confidence >= 0.8, ours[item["id"]].category == item["seed_category"]) for item in items
    ]
    sure = [right for surely, right in judged if surely]
    doubted = [right for surely, right in judged if not surely]

    assert sum(sure) / len(sure) >= 0.95
    assert sum(doubted) / len(doubted) < sum(sure) / len(sure)


def test_the_rules_carry_over_when_a_tool_is_left_out() -> None:
    """Without the rows that name the tool: nearly everything is known by its family."""
    _, items, _, _ = development_set()

    assert leave_one_tool_out(items, [], "named") >= 0.9


@pytest.mark.long
def test_the_rules_have_a_floor_without_what_only_one_tool_shows() -> None:
    """Even without every phrase that no other tool's output shows (see docs/explanation/diagnosis.md)."""
    _, items, _, _ = development_set()
    others = [
        {**item, "tool": item.get("tool", item["id"])}
        for name in OUTPUTS
        for item in read_jsonl(HERE / f"{name}.jsonl")
    ]

    assert leave_one_tool_out(items, others, "exclusive") >= 0.75


@pytest.mark.parametrize(("name", "bar"), [(name, 0.97) for name in OUTPUTS])
def test_tools_outside_the_development_set_are_understood(name: str, bar: float) -> None:
    """Outputs of other tools: really run, or written after their documentation."""
    items = read_jsonl(HERE / f"{name}.jsonl")
    ours = [(item, why(item["text"], exit_code=item["exit_code"])) for item in items]
    wrong = [(item["id"], found.kind) for item, found in ours if found.category not in item["accept"]]
    placed = [(item, found) for item, found in ours if item["location"]]
    lost = [
        (item["id"], str(found.location))
        for item, found in placed
        if not (
            found.location
            and same_file(found.location.file, item["location"][0])
            and found.location.line == item["location"][1]
        )
    ]

    assert 1 - len(wrong) / len(items) >= bar, wrong
    assert 1 - len(lost) / len(placed) >= 0.95, lost

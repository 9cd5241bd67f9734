"""Helpers of the diagnosis tests: a fixed clock, one call, and the collected outputs."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from medbay.core.diagnosis import Diagnosis, diagnose

NOW = datetime(2026, 8, 15, 18, 0, tzinfo=UTC)
HERE = Path(__file__).parent


def why(text: str | bytes, **facts: Any) -> Diagnosis:
    """Diagnose at the fixed time, exit status 1 unless told otherwise."""
    return diagnose(text, **{"now": NOW, "exit_code": 1, **facts})


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """The items of a file with one JSON object a line."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def same_file(given: str, wanted: str) -> bool:
    """Whether one path is the end of the other, by whole components."""
    ours, theirs = (path.replace("\\", "/").strip("./").split("/") for path in (given, wanted))
    shorter = min(len(ours), len(theirs))
    return ours[-shorter:] == theirs[-shorter:]

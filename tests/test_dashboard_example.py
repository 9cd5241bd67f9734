"""The dashboard for Grafana asks for figures that there are."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_every_figure_of_the_dashboard_is_served() -> None:
    """By the names that the reference of the API has, all of them."""
    board = json.loads((ROOT / "examples" / "grafana-dashboard.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    asked = {name for each in board["panels"] for t in each["targets"] for name in re.findall(r"medbay_\w+", t["expr"])}

    assert asked == set(re.findall(r"medbay_[a-z_]+", page))

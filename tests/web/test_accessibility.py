"""What axe-core finds in every view, light, dark and on a phone: nothing serious."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Page

from tests.waiting import wait_for
from tests.web.browsing import SIZES, VIEWS, House, Opened, needs_chromium, shown

pytestmark = needs_chromium
AXE: Final = (Path(__file__).parent / "vendor" / "axe" / "axe.min.js").read_text(encoding="utf-8")
ASKED: Final = """async () => (await axe.run(document, {resultTypes: ['violations']})).violations
    .filter(each => each.impact === 'serious' || each.impact === 'critical')
    .map(each => [each.id, each.help, each.nodes.slice(0, 3).map(node => node.html.slice(0, 160))])"""


@pytest.fixture(scope="module")
def lived_in(house: House) -> dict[str, str]:
    """A store with something in every view."""
    bay = house.bay
    failed = bay.add("pull rates", run="echo something odd happened; exit 7", tag="nightly")
    first = bay.add("build", run="true", at="+1h")
    bay.add("check", run="true", after=[first.id])
    bay.add("nightly", run="true", cron="0 3 * * *", zone="Asia/Tokyo")
    asked = bay.add("deploy docs", run="true", at="+1h")
    bay.block(asked.id, "the token lacks a scope", kind="human")
    bay.open_breaker("anthropic", why="usage limit")
    for each in ("login is flaky on Safari", "export the report as CSV"):
        bay.intake.capture(each)
    bay.intake.once()
    bay.intake.capture("paint the shed")
    wait_for(lambda: bay.get(failed.id).last_fingerprint)
    return {"task": failed.id, "fingerprint": bay.get(failed.id).last_fingerprint, "asked": asked.id}


def found_in(page: Page) -> list[Any]:
    """What axe-core calls serious or worse."""
    page.evaluate(AXE)  # by the debugger, not by the page: its strict policy stays as it is
    return list(page.evaluate(ASKED))


@pytest.mark.parametrize("how", ["light", "dark", "phone"])
def test_no_view_has_a_serious_finding(house: House, opened: Opened, lived_in: dict[str, str], how: str) -> None:
    """Names, contrast, roles, order of headings: by the rules of axe-core."""
    size = SIZES.get(how, {"width": 1280, "height": 800})
    page = opened(viewport=size, color_scheme="dark" if how == "dark" else "light", reduced_motion="reduce")
    own = [
        f"/tasks/{lived_in['task']}",
        f"/tasks/{lived_in['task']}/attempts/1/log",
        f"/fingerprints/{lived_in['fingerprint']}",
        f"/inbox/{lived_in['asked']}",
        "/nowhere",
    ]
    wrong = {}
    for path in [*VIEWS, *own]:
        page.goto(house.url + path)
        shown(page)
        if serious := found_in(page):
            wrong[path] = serious
    assert wrong == {}

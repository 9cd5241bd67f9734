"""Take the pictures of the page: every view of a simulated month, light, dark and on a phone.

`make pictures` writes those that the documents show; `python -m bench.pictures FOLDER` writes all of them there.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Page, sync_playwright

from bench.month import pass_month
from medbay import app
from medbay.bay import Bay
from tests.web.browsing import ARGS, CHROMIUM, SIZES, shown, signed_in
from tests.web.conftest import TOKEN, served

SHOWN: Final = Path(__file__).parent.parent / "docs" / "pictures"
DOCUMENTED: Final = {
    ("now", "light"): "page-now.png",
    ("now", "phone"): "page-phone.png",
    ("task", "light"): "page-task.png",
    ("insights", "dark"): "page-insights.png",
    ("fleet", "light"): "page-fleet.png",
}
WAYS: Final[dict[str, dict[str, Any]]] = {
    "light": {"viewport": {"width": 1280, "height": 900}},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": SIZES["phone"], "device_scale_factor": 2, "has_touch": True},
}
THOUGHTS: Final = (
    "login is flaky on Safari",
    "Safari login fails sometimes",
    "export the ledger as CSV",
    "the manual lacks a page about tags",
)


def take(folder: Path, home: Path, *, only: frozenset[str] = frozenset()) -> list[Path]:
    """Write every picture of the store in a folder; or those of the named views."""
    made = []
    with served(home) as site, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        views = {name: path for name, path in _views(site.bay).items() if not only or name in only}
        for way, how in WAYS.items():
            context = browser.new_context(reduced_motion="reduce", timezone_id="Europe/Berlin", **how)
            page = signed_in(context, site.url, TOKEN)
            for name, path in views.items():
                page.goto(site.url + path)
                shown(page)
                _settle(page)
                made.append(folder / f"{name}-{way}.png")
                page.screenshot(path=made[-1], full_page=way != "phone" and name != "tasks")
            context.close()
        browser.close()
    return made


def make_home(folder: Path, days: int) -> None:
    """Fill a folder with a store of a month that ends now, and some thoughts beside it."""
    app.make_home(folder, file_is_ours=True, environ=os.environ)
    place = app.find_place(folder, store_url=None, environ=os.environ)
    pass_month(place, until=time.time_ns() // 1_000_000, days=days)
    with Bay(place) as bay:
        for each in THOUGHTS:
            bay.intake.capture(each)
        bay.intake.once()
        bay.intake.capture("the shed needs paint")


def _views(bay: Bay) -> dict[str, str]:
    """Every view with its path; the task is the one with most to tell."""
    told = max(bay.select(), key=lambda task: (task.triages > 0, 3 < task.attempts < 9, -task.attempts))
    asked = bay.inbox()[0]
    (pattern, *_) = bay.patterns()
    return {
        "now": "/",
        "tasks": "/tasks?since=7d",
        "task": f"/tasks/{told.id}",
        "log": f"/tasks/{told.id}/attempts/1/log",
        "fleet": "/fleet",
        "graph": "/fleet?tab=graph",
        "cron": "/fleet?tab=cron",
        "insights": "/insights?since=30d",
        "incidents": "/incidents",
        "fingerprints": "/fingerprints?order=count",
        "fingerprint": f"/fingerprints/{pattern.fingerprint}",
        "inbox": "/inbox",
        "question": f"/inbox/{asked.id}",
        "candidates": "/candidates",
        "captures": "/captures",
        "events": "/events",
    }


def _settle(page: Page) -> None:
    """Until two frames in a row were drawn after the last answer."""
    page.wait_for_load_state("networkidle")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def _copies(made: list[Path]) -> Iterator[tuple[Path, Path]]:
    by_name = {path.stem: path for path in made}
    for (view, way), name in DOCUMENTED.items():
        yield by_name[f"{view}-{way}"], SHOWN / name


def main() -> None:
    """All pictures into a folder that is named, else those of the documents in their place."""
    with tempfile.TemporaryDirectory(prefix="medbay-pictures-") as name:
        home = Path(name) / "home"
        home.mkdir()
        make_home(home, days=30)
        if len(sys.argv) > 1:
            take(Path(sys.argv[1]), home)
            return
        made = take(Path(name), home, only=frozenset(view for view, _ in DOCUMENTED))
        for source, target in _copies(made):
            target.write_bytes(source.read_bytes())


if __name__ == "__main__":
    main()

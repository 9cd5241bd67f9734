"""A real browser over a real daemon: what the tests of the page walk in."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

import medbay
from medbay.bay import Bay
from tests.cli.calling import COMMAND
from tests.waiting import wait_for

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
ARGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync"
).split()
TOKEN = "a-token-of-the-browser-0123456789"
CONFIG = """\
[web]
port = {port}
token = "{token}"

[engine]
grace = "2s"

[policy.ladder.transient]
delays = ["6s"]
max_retries = 3
"""
VIEWS = (
    "/ /tasks?since=7d /fleet /fleet?tab=graph /fleet?tab=cron /insights /incidents /fingerprints /inbox /events /board"
    " /captures /candidates"
).split()
SIZES = {"phone": {"width": 390, "height": 844}, "zoomed": {"width": 640, "height": 400}}  # 200 % of 1280 x 800
needs_chromium = pytest.mark.skipif(not os.path.exists(CHROMIUM), reason="no chromium: install the package chromium")


def shown(page: Page) -> None:
    """Wait until a view has what it asked for."""
    expect(page.locator("main")).not_to_be_empty(timeout=20_000)
    expect(page.locator(".skeleton, main [role=status] .sr")).to_have_count(0, timeout=20_000)


@dataclass
class House:
    """A running `medbay up` with its page, and the library beside it."""

    folder: Path
    url: str
    process: subprocess.Popen[bytes]
    bay: Bay

    def open(self, context: BrowserContext, path: str = "/") -> Page:
        """Open a view as somebody who followed the link before."""
        return signed_in(context, self.url, TOKEN, path)


def signed_in(context: BrowserContext, url: str, token: str, path: str = "/") -> Page:
    """Open a view of a page by the link that was printed."""
    page = context.new_page()
    page.goto(f"{url}/#token={token}")
    expect(page.locator(".chip.done")).to_have_text("● live", timeout=20_000)
    if path != "/":
        page.goto(url + path)
        shown(page)
    return page


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """One daemon for all tests of the module: each looks at tasks of its own."""
    folder = tmp_path_factory.mktemp("house")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MEDBAY_")}
    subprocess.run([COMMAND, "init"], cwd=folder, env=environ, check=True, capture_output=True)
    (folder / "medbay.toml").write_text(CONFIG.format(port=port, token=TOKEN), encoding="utf-8")
    with open(folder / "up.log", "wb") as log:
        process = subprocess.Popen([COMMAND, "up", "--workers", "6"], cwd=folder, env=environ, stderr=log)
    try:
        wait_for(lambda: b"the page:" in (folder / "up.log").read_bytes())
        with medbay.open(cwd=folder) as bay:
            yield House(folder, f"http://127.0.0.1:{port}", process, bay)
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One real Chromium."""
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        yield made
        made.close()


Opened = Callable[..., Page]


@pytest.fixture
def opened(house: House, browser: Browser) -> Iterator[Opened]:
    """Opens views in windows that fail the test when a script does."""
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    def open_it(path: str = "/", **how: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **how})
        context.on("weberror", lambda error: problems.append(str(error.error)))
        contexts.append(context)
        return house.open(context, path)

    yield open_it
    for each in contexts:
        each.close()
    assert problems == []

"""What the tests of the page share: a server on a store of its own, and a person with a token."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from medbay import app
from medbay.bay import Bay
from medbay.core.policy.policy import Policy
from medbay.engine.round import Engine
from medbay.web.app import make
from medbay.web.server import listen
from tests.cli.calling import RealTime
from tests.postgres_server import Server
from tests.waiting import wait_for
from tests.web.browsing import browser, house, opened  # noqa: F401 - fixtures of the tests in a browser
from tests.worlds import World

TOKEN = "a-token-of-the-tests-0123456789"


class Site:
    """A store with its page, served in this process."""

    def __init__(self, bay: Bay, url: str) -> None:
        self.bay = bay
        self.url = url
        self.world = World(bay.store, RealTime(), policy=Policy())
        self.people: list[httpx.Client] = []
        self.client = self.person(TOKEN)

    def person(self, token: str) -> httpx.Client:
        """Somebody who shows this token with every request."""
        headers = {"Authorization": f"Bearer {token}", "X-Medbay": "1"}
        made = httpx.Client(base_url=self.url, headers=headers, timeout=30, verify=False, trust_env=False)
        self.people.append(made)
        return made

    def get(self, path: str, **params: Any) -> Any:
        """What the API answers."""
        answer = self.client.get(path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Any = None, **params: Any) -> Any:
        """What the API answers to a change."""
        answer = self.client.post(path, json={} if body is None else body, params=params)
        assert answer.is_success, answer.text
        return answer.json()

    def engine(self, **settings: Any) -> Engine:
        """An engine that runs what the world's script says, started."""
        made = self.world.engine(**settings)
        made.start()
        return made


@contextmanager
def served(folder: Path, url: str | None = None, **web: Any) -> Iterator[Site]:
    """A page on a store, in a thread of this process."""
    (folder / ".medbay").mkdir(exist_ok=True)
    store = url or f"sqlite:///{folder}/.medbay/medbay.db"
    place = app.find_place(folder, store_url=store, environ={"HOME": os.environ.get("HOME", "/")})
    config = replace(place.config.web, **{"port": 0, "token": TOKEN, **web})
    place = replace(place, config=replace(place.config, web=config))
    bay = Bay(place, actor="person:test")
    listening = listen("127.0.0.1", config.port)
    port = listening.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(make(place, port=port), log_level="warning", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    wait_for(lambda: server.started)
    site = Site(bay, f"http://127.0.0.1:{port}")
    try:
        yield site
    finally:
        for each in site.people:
            each.close()  # a connection that is kept alive keeps the server from its end
        server.should_exit = True
        thread.join(10)
        bay.close()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A page on a new SQLite store."""
    with served(tmp_path) as made:
        yield made


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def any_site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """A page on a new store, on every kind of database there is."""
    url = None
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres")
        url = server.url(request.getfixturevalue("database"))
    with served(tmp_path, url) as made:
        yield made

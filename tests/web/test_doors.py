"""The doors of the page: who comes in under which name, from where and with what; and what is open to all."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from medbay.areas.tokens import FILE
from medbay.web.doors import HEADERS
from tests.cli.calling import Cli
from tests.web.conftest import TOKEN, Site, served

BODY: dict[str, Any] = {"title": "x", "run": "true"}


def ask(site: Site, method: str, path: str, *, body: Any = None, **headers: str) -> httpx.Response:
    """A request with nothing but these headers."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    content = None if body is None else json.dumps(body)
    return STRANGER.request(method, site.url + path, headers=named, content=content)


# One for all, because what it makes at first takes a while.
STRANGER = httpx.Client(verify=False, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))
GOOD = {"authorization": f"Bearer {TOKEN}", "x_medbay": "1", "content_type": "application/json"}


def without(name: str, **more: str) -> dict[str, str]:
    """The headers of a good request but for one."""
    return {**{key: value for key, value in GOOD.items() if key != name}, **more}


@pytest.mark.parametrize("path", ["/api/now", "/api/tasks", "/openapi.json", "/metrics", "/api/session", "/api/events"])
def test_everything_that_says_something_needs_a_token(site: Site, path: str) -> None:
    """On loopback as anywhere else; one that opens nothing is no better than none."""
    assert ask(site, "GET", path).status_code == 401
    assert ask(site, "GET", path, authorization="Bearer nonsense").status_code == 401
    assert ask(site, "GET", path, authorization=f"Basic {TOKEN}").status_code == 401
    assert ask(site, "GET", path, authorization=f"Bearer {TOKEN}").status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/", "/tasks/k7f2", "/static/app.css", "/inbox/q-1"])
def test_the_empty_page_and_its_health_are_open(site: Site, path: str) -> None:
    """They know no data."""
    answer = ask(site, "GET", path)

    assert answer.status_code == 200
    assert TOKEN not in answer.text


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil.example:80", "a@127.0.0.1", "[::1", "::1"]
)
def test_a_request_under_another_name_is_refused(site: Site, host: str) -> None:
    """So that no other site reaches us by a name of its own, token or not."""
    assert ask(site, "GET", "/healthz", host=host).status_code in (400, 421)
    assert ask(site, "GET", "/", host=host).status_code in (400, 421)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:9", "[::1]:8484", "127.0.0.2"])
def test_loopback_has_many_names(site: Site, host: str) -> None:
    """All of them are ours."""
    assert ask(site, "GET", "/healthz", host=host).status_code == 200


def test_a_configured_name_is_ours(tmp_path: Path) -> None:
    """And only that one."""
    with served(tmp_path, names=("medbay.example.org",)) as site:
        assert ask(site, "GET", "/healthz", host="medbay.example.org").status_code == 200
        assert ask(site, "GET", "/healthz", host="other.example.org").status_code == 421


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (GOOD, 201),
        (without("authorization"), 401),
        (without("x_medbay"), 403),
        ({**GOOD, "x_medbay": "0"}, 403),
        (without("content_type"), 415),
        ({**GOOD, "content_type": "text/plain"}, 415),
        ({**GOOD, "content_type": "application/x-www-form-urlencoded"}, 415),
        ({**GOOD, "origin": "http://evil.example"}, 403),
        ({**GOOD, "origin": "null"}, 403),
        ({**GOOD, "host": "evil.example"}, 421),
    ],
)
def test_a_change_comes_from_our_page_or_from_no_page(site: Site, headers: dict[str, str], status: int) -> None:
    """With the header and the body that no form of another site can send."""
    answer = ask(site, "POST", "/api/tasks", body=BODY, **headers)

    assert answer.status_code == status
    assert len(site.bay.select()) == (status == 201)


def test_our_own_page_may_change_things(site: Site) -> None:
    """Its origin is the host it talks to."""
    assert ask(site, "POST", "/api/tasks", body=BODY, **GOOD, origin=site.url).status_code == 201


@pytest.mark.parametrize("path", ["/api/tasks/ID/cancel", "/api/tasks/ID/retry", "/api/tasks/ID/block"])
def test_nothing_changes_by_a_get(site: Site, path: str) -> None:
    """Not even with a token."""
    task = site.bay.add("x", run="true")
    before = site.bay.last_seq()

    for method in ("GET", "HEAD"):
        answer = ask(site, method, path.replace("ID", task.id), authorization=f"Bearer {TOKEN}")
        assert answer.status_code in (404, 405), answer.text

    assert site.bay.last_seq() == before


def test_too_many_wrong_tokens_are_not_looked_at(site: Site) -> None:
    """For a while; who is inside already stays."""
    cookie = enter(site, TOKEN).cookies
    STRANGER.cookies.clear()
    for _ in range(10):
        assert ask(site, "GET", "/api/now", authorization="Bearer guess").status_code == 401

    refused = ask(site, "GET", "/api/now", authorization=f"Bearer {TOKEN}")

    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) <= 61
    assert by_cookie(site, cookie).status_code == 200


def enter(site: Site, token: str) -> httpx.Response:
    """Exchange a token for a cookie, as the page does."""
    STRANGER.cookies.clear()
    return ask(site, "POST", "/api/session", body={"token": token}, x_medbay="1", content_type="application/json")


def by_cookie(site: Site, cookies: httpx.Cookies) -> httpx.Response:
    """What somebody sees who has nothing but a cookie."""
    ((name, value),) = cookies.items()
    return ask(site, "GET", "/api/now", cookie=f"{name}={value}")


def test_a_token_is_exchanged_for_a_cookie(site: Site) -> None:
    """That scripts cannot read and other sites cannot make a browser send."""
    answer = enter(site, TOKEN)

    kept = answer.headers["set-cookie"].lower()
    assert "httponly" in kept and "samesite=strict" in kept and TOKEN not in kept
    assert by_cookie(site, answer.cookies).status_code == 200
    assert enter(site, "nonsense").status_code == 401


def test_a_cookie_that_was_changed_opens_nothing(site: Site) -> None:
    """It is signed with what only we know."""
    ((name, value),) = enter(site, TOKEN).cookies.items()

    for changed in (value[:-3] + "aaa", value[::-1], "x" * 3000, "", '"'):
        assert ask(site, "GET", "/api/now", cookie=f"{name}={changed}").status_code in (400, 401)


def test_a_person_has_a_token_of_their_own_until_it_is_removed(site: Site) -> None:
    """Their name stands beside what they do, and their cookie ends with the token."""
    token = site.bay.tokens.add("alice")
    alice = site.person(token)
    cookies = enter(site, token).cookies

    task = alice.post("/api/tasks", json=BODY).json()
    site.bay.tokens.remove("alice")

    assert site.bay.get(task["id"]).created_by == "person:alice"
    wait_until_refused(alice)
    assert by_cookie(site, cookies).status_code == 401


def wait_until_refused(person: httpx.Client) -> None:
    """What is known of tokens is read again every two seconds."""
    from tests.waiting import wait_for

    wait_for(lambda: person.get("/api/now").status_code == 401)


def test_the_stream_of_events_has_the_same_doors(site: Site) -> None:
    """A token, and no page of another site."""
    url = site.url.replace("http", "ws") + "/api/live"
    good = {"Authorization": f"Bearer {TOKEN}"}

    for headers, origin in (({}, None), ({"Authorization": "Bearer no"}, None), (good, "http://evil.example")):
        with pytest.raises(InvalidStatus):
            connect(url, additional_headers=headers, origin=origin).close()  # type: ignore[arg-type]
    with connect(url, additional_headers=good, origin=site.url) as socket:  # type: ignore[call-overload]
        assert json.loads(socket.recv(5))["type"] == "hello"


def test_every_answer_says_what_a_browser_may_do_with_it(site: Site) -> None:
    """Scripts and styles of our own only, no frames, no guessing of kinds."""
    for path in ("/", "/static/app.css", "/api/now", "/healthz"):
        answer = site.client.get(path)
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
    assert "unsafe" not in HEADERS["content-security-policy"]


def test_a_body_that_is_too_long_is_refused(site: Site) -> None:
    """Before it is read."""
    answer = site.client.post("/api/tasks", json={"title": "x" * 3_000_000})

    assert answer.status_code == 413


def test_the_token_is_made_once_and_kept_for_its_owner(bare: Cli) -> None:
    """`auto`: in a file that nobody else can read."""
    bare.good("init")
    with bare.bay() as bay:
        made = bay.tokens.owner()
        kept = bay.place.folder / FILE

        assert len(made) == 32
        assert bay.tokens.owner() == made == kept.read_text().strip()
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_people_get_tokens_on_the_command_line(cli: Cli) -> None:
    """Shown once, listed by name, removed."""
    token = cli.good("web", "token", "add", "alice").out.strip()

    assert len(token) == 32
    assert cli.good("web", "token", "list", "--json").json[0]["name"] == "alice"
    assert token not in cli.good("web", "token", "list").out
    assert cli("web", "token", "add", "no name").code == 2
    cli.good("web", "token", "remove", "alice")
    assert cli("web", "token", "remove", "alice").code == 3


def test_an_attempt_makes_no_token_and_serves_no_page(cli: Cli) -> None:
    """Else an agent would answer its own question."""
    inside = {"MEDBAY_ATTEMPT_KEY": "x"}

    assert cli("web", "token", "add", "me", env=inside).code == 4
    assert cli("serve", env=inside).code == 4


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MEDBAY_STORE", raising=False)
    return Cli(tmp_path)


@pytest.fixture
def cli(bare: Cli) -> Cli:
    """The command line in a project with a store."""
    bare.good("init")
    return bare

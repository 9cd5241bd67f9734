"""The link of a message: it opens one question, without a token, and is used up by the answer."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from medbay.core.delivery import channel
from medbay.core.people.link import VALID_MS, AnswerLink, sign
from medbay.engine.deliver import Deliverer
from medbay.store import meta
from tests.engine.test_messages import Phone
from tests.web.conftest import Site

KEY = "a-key-of-the-tests"


def sent_link(site: Site, title: str = "deploy docs") -> str:
    """The address in the message about a new question."""
    phone = Phone()
    to = channel(name="phone", url="https://example.org/hook", page="http://host:8484")
    deliverer = Deliverer(site.bay.store, site.world.clock, (to,), {"url": phone}, owner="one", link_key=KEY)
    deliverer.begin()
    site.bay.block(site.bay.add(title, run="true").id, "the token lacks a scope", kind="human")
    deliverer.deliver()
    deliverer.deliver()
    (text,) = phone.arrived
    return text.link


def stranger(site: Site, path: str, body: Any, **headers: str) -> httpx.Response:
    """What the page of a link gets, which has neither token nor cookie."""
    sent = {"X-Medbay": "1", **headers}
    return httpx.post(site.url + path, json=body, headers=sent, timeout=30, trust_env=False)


def test_a_link_answers_its_question_once(any_site: Site) -> None:
    """Opening it changes nothing, however often; after the answer it says what was answered."""
    site = any_site
    address, link = sent_link(site).split("#answer=")

    for _ in range(3):
        opened = stranger(site, "/api/link", {"link": link}).json()
    answered = stranger(site, "/api/link/answer", {"link": link, "option": "1", "note": "by phone"})
    again = stranger(site, "/api/link/answer", {"link": link, "option": "3"})

    (task_id,) = opened["question"]["tasks"]
    assert address == f"http://host:8484/inbox/{task_id}" and opened["channel"] == "phone"
    assert answered.status_code == 200 and answered.json()["tasks"] == [task_id]
    assert site.bay.get(task_id).status == "pending"
    assert again.status_code == 409 and "was used" in again.json()["error"]["message"]
    assert "by phone (person:phone link)" in again.json()["error"]["message"]
    assert stranger(site, "/api/link", {"link": link}).status_code == 409


def test_previews_use_nothing_up(site: Site) -> None:
    """What a messenger fetches is the empty page: behind the # nothing is sent."""
    address = sent_link(site)
    link = address.partition("#answer=")[2]

    for method in ("GET", "HEAD"):
        seen = httpx.request(method, site.url + "/inbox/k7f2", timeout=30, trust_env=False)
        refused = httpx.request(method, f"{site.url}/api/link", params={"link": link}, timeout=30, trust_env=False)
        assert seen.status_code == 200 and refused.status_code == 401

    assert stranger(site, "/api/link", {"link": link}).json()["question"]["status"] == "open"


def test_a_wrong_link_and_an_old_one_say_so(site: Site) -> None:
    """Neither opens anything."""
    link = sent_link(site).partition("#answer=")[2]
    (asked,) = site.get("/api/questions")["questions"]
    old = sign(AnswerLink(asked["id"], "phone", site.bay.now() - 1_000), KEY)
    other = sign(AnswerLink("q-gone-1", "phone", site.bay.now() + VALID_MS), KEY)

    wrong = stranger(site, "/api/link/answer", {"link": link[:-4] + "AAAA"})

    assert wrong.status_code == 404 and "opens nothing" in wrong.json()["error"]["message"]
    assert stranger(site, "/api/link", {"link": old}).json()["error"]["message"] == "this link is too old"
    assert stranger(site, "/api/link", {"link": other}).json()["error"]["message"] == "this question is gone"
    assert site.get("/api/questions")["questions"][0]["status"] == "open"


@pytest.mark.parametrize("headers", [{"X-Medbay": "0"}, {"Origin": "https://evil.example"}])
def test_a_link_is_answered_from_our_page_only(site: Site, headers: dict[str, str]) -> None:
    """No form of another site sends it on."""
    link = sent_link(site).partition("#answer=")[2]

    assert stranger(site, "/api/link/answer", {"link": link}, **headers).status_code == 403


def test_a_link_opens_its_one_question_and_nothing_else(site: Site) -> None:
    """It is no token, and another's question has another link."""
    first, second = (sent_link(site, title).partition("#answer=")[2] for title in ("one", "two"))

    shown = [stranger(site, "/api/link", {"link": each}).json()["question"]["need"] for each in (first, second)]
    refused = httpx.get(
        site.url + "/api/now", headers={"Authorization": f"Bearer {first}"}, timeout=30, trust_env=False
    )

    assert [each.partition(":")[0] for each in shown] == ["one", "two"]
    assert refused.status_code == 401


def test_engines_share_one_key(site: Site) -> None:
    """Whichever engine sent the message, the link works."""
    sent_link(site)
    with site.bay.store.read() as tx:
        assert meta.value(tx, "link_key") == KEY

    Deliverer(
        site.bay.store,
        site.world.clock,
        (channel(name="phone", url="https://example.org", page="http://host"),),
        {"url": Phone()},
        owner="two",
        link_key="another",
    ).begin()

    with site.bay.store.read() as tx:
        assert meta.value(tx, "link_key") == KEY

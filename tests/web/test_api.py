"""The API: what the command line does, by request; pages of at most 200 rows; errors that say what to do."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest
from websockets.sync.client import connect

from medbay.web.bays import Bays
from medbay.web.live import Hub
from tests.waiting import wait_for
from tests.web.conftest import TOKEN, Site
from tests.worlds import ManualClock, failed

NETWORK = "connect ECONNREFUSED 10.0.0.1:443"


def test_a_list_is_read_page_by_page(any_site: Site) -> None:
    """Each task once, in order, at most 200 at a time, whatever the order asked for."""
    site = any_site
    site.bay.add_many([{"title": f"task {number}", "run": "true", "tag": f"t{number % 3}"} for number in range(230)])

    for order in ("need", "newest", "oldest"):
        seen, cursor, pages = [], "", 0
        while True:
            page = site.get("/api/tasks", order=order, limit=100, cursor=cursor, tag="t0")
            seen += [each["id"] for each in page["tasks"]]
            pages += 1
            assert page["total"] == 77 and page["counts"] == {"ready": 77}
            if page["next"] is None:
                break
            cursor = page["next"]
        assert len(seen) == len(set(seen)) == 77
    assert len(site.get("/api/tasks", limit=200)["tasks"]) == 200
    assert site.client.get("/api/tasks", params={"limit": 201}).status_code == 422
    assert site.client.get("/api/tasks", params={"cursor": "bm9uc2Vuc2U"}).status_code == 400


def test_filters_are_the_words_of_the_command_line(any_site: Site) -> None:
    """By status, tag, without a tag, text, category, fingerprint, how it stands."""
    site = any_site
    broken = site.world.add("pull rates", failed(NETWORK), tag="nightly")
    asks = site.bay.add("deploy docs", run="true", tag=["docs", "nightly"])
    site.bay.block(asks.id, "the token lacks a scope", kind="human")
    engine = site.engine()
    engine.tick()
    engine.tick()
    fingerprint = site.bay.get(broken.id).last_fingerprint

    def found(**asked: Any) -> list[str]:
        return sorted(each["id"] for each in site.get("/api/tasks", **asked)["tasks"])

    assert found(status="failed") == [broken.id]
    assert found(tag=["docs", "nightly"]) == [asks.id]
    assert found(tag="nightly", not_tag="docs") == [broken.id]
    assert found(text="PULL") == [broken.id]
    assert found(category="transient") == found(category="transient/network") == [broken.id]
    assert found(fp=fingerprint) == [broken.id]
    assert found(stands="you") == [asks.id]
    assert found(stands=["you", "wait"]) == sorted([asks.id, broken.id])
    assert found(queue="gpu") == found(agent="claude") == found(held="provider:x") == []
    assert site.get("/api/tasks")["tasks"][0]["id"] == asks.id


def test_the_first_page_says_what_needs_a_person(any_site: Site) -> None:
    """With the question in the row, what runs, what waits and until when, and how many there are of each."""
    site = any_site
    asks = site.bay.add("deploy docs", run="true")
    site.bay.block(asks.id, "the token lacks a scope", kind="human")
    waits = site.world.add("pull rates", failed(NETWORK))
    site.world.add("long one", None)
    engine = site.engine()
    engine.tick()
    engine.tick()

    now = site.get("/api/now")

    assert now["counts"] == {"you": 1, "run": 1, "wait": 1, "held": 0, "ready": 0, "asked": 1, "done": 0}
    (question,) = now["questions"]
    assert question["about"][0]["title"] == "deploy docs" and question["options"]
    (row,) = now["waiting"]
    assert row["id"] == waits.id and row["phrase"]["form"] == "in" and row["phrase"]["at"] == row["next_at"]
    assert now["slots"] == {"busy": 1, "total": 4}
    assert now["next_wake"] == row["next_at"]


def test_a_task_is_told_as_a_whole(any_site: Site) -> None:
    """What is recorded, why, what comes, and the four lanes of its timeline."""
    site = any_site
    task = site.world.add("pull rates", failed(NETWORK), failed(NETWORK))
    engine = site.engine()
    engine.tick()
    engine.tick()

    found = site.get(f"/api/tasks/{task.id}")

    assert found["task"]["attempts"][0]["diagnosis"]["category"] == "transient"
    assert {each["label"] for each in found["explanation"]["sentences"]} >= {"Where", "Why", "Next", "Change"}
    lanes = found["timeline"]
    assert [each["number"] for each in lanes["attempts"]] == [1]
    assert lanes["waits"][0]["to"] is None and lanes["waits"][0]["until"] == found["task"]["next_attempt_at"]
    assert [each["kind"] for each in lanes["judgement"]] == ["diagnosis"]
    assert [each["token"] for each in lanes["state"]][-1] == "wait"
    assert len(lanes["coming"]) > 1


def test_everything_a_person_does_to_a_task(any_site: Site) -> None:
    """In their name, with the answer of the library."""
    site, bay = any_site, any_site.bay
    task = site.post("/api/tasks", {"title": "one", "run": ["true"], "tag": "a"})
    path = f"/api/tasks/{task['id']}"

    assert site.post(f"{path}/pause")["paused"] is True
    assert site.post(f"{path}/resume")["paused"] is False
    assert site.post(f"{path}/block", {"reason": "why not", "kind": "human"})["status"] == "blocked"
    assert site.get(f"/api/questions/{task['id']}")["status"] == "open"
    assert site.post(f"{path}/unblock", {"attempts": 3})["status"] == "pending"
    assert site.client.patch(path, json={"title": "two", "priority": 1}).json()["title"] == "two"
    site.post(f"{path}/guidance", {"text": "pin the seed"})
    assert bay.get(task["id"]).guidance[-1].advice == "pin the seed"
    assert site.post(f"{path}/cancel")["status"] == "cancelled"
    assert site.client.post(f"{path}/retry", json={}).status_code == 409
    assert bay.events(task_id=task["id"])[-1].data["by"].startswith("person:")


def test_a_question_is_answered_in_the_name_of_who_answered(any_site: Site) -> None:
    """By the number of an option; once."""
    site = any_site
    task = site.bay.add("deploy docs", run="true")
    site.bay.block(task.id, "the token lacks a scope", kind="human")
    alice = site.person(site.bay.tokens.add("alice"))
    (asked,) = site.get("/api/questions")["questions"]

    answer = alice.post(f"/api/questions/{asked['id']}/answer", json={"option": "1"}).json()

    assert answer["tasks"] == [task.id]
    assert site.get("/api/questions", answered=5)["answered"][0]["answered_by"] == "person:alice"
    assert alice.post(f"/api/questions/{asked['id']}/answer", json={"option": "1"}).status_code in (404, 409)


def test_breakers_are_opened_and_closed_by_hand(any_site: Site) -> None:
    """And name what they hold."""
    site = any_site
    opened = site.post("/api/breakers/open", {"key": "anthropic", "reason": "quota", "lasts": "2h"})

    assert opened["state"] == "open" and opened["until"] is not None
    assert [each["key"] for each in site.get("/api/now")["breakers"]] == [opened["key"]]
    assert site.get(f"/api/breakers/{opened['key']}")["why"] == "quota"
    assert site.post("/api/breakers/close", key=opened["key"])["state"] == "closed"
    assert site.get("/api/breakers")["breakers"] == []


def test_many_are_acted_on_after_a_dry_run(any_site: Site) -> None:
    """By filter or by name; whom it passes over is counted; an empty filter is refused."""
    site = any_site
    site.bay.add_many([{"title": f"task {number}", "run": "true", "tag": "old"} for number in range(25)])
    choice = {"action": "pause", "choice": {"tag": ["old"]}}

    dry = site.post("/api/tasks/bulk", choice)
    assert (dry["matched"], dry["done"], dry["dry_run"]) == (25, 25, True)
    assert site.bay.count() == 25 and not any(each.paused for each in site.bay.select())
    site.post("/api/tasks/bulk", {**choice, "ids": dry["ids"][:1], "choice": None, "dry_run": False})
    made = site.post("/api/tasks/bulk", {**choice, "dry_run": False})

    assert (made["matched"], made["done"]) == (25, 24)
    assert made["skipped"] == [{"why": "paused already", "number": 1}]
    assert site.client.post("/api/tasks/bulk", json={"action": "pause", "dry_run": False}).status_code == 400


def test_errors_say_what_is_wrong_and_what_to_do(site: Site) -> None:
    """In one shape, with the words of the library."""
    missing = site.client.get("/api/tasks/zzzz")
    bad = site.client.post("/api/tasks", json={"title": "x", "rnu": "true"})
    shape = site.client.post("/api/tasks/x/retry", json={"attempts": "many"})
    nothing = site.client.get("/api/nothing")
    no_json = site.client.post("/api/tasks", content=b"{", headers={"content-type": "application/json"})

    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found")
    assert (bad.status_code, bad.json()["error"]["hint"]) == (400, 'did you mean "run"?')
    assert shape.status_code == 422 and "attempts" in shape.json()["error"]["message"]
    assert nothing.status_code == 404 and no_json.status_code == 422
    assert site.get("/api/tasks/zzzz/near") == {"tasks": []}


def test_events_are_read_on_from_a_number_and_back_from_one(any_site: Site) -> None:
    """Each with its words."""
    site = any_site
    for number in range(5):
        site.bay.add(f"task {number}", run="true")

    newest = site.get("/api/events", limit=3)
    older = site.get("/api/events", before=newest["events"][0]["seq"], limit=10)
    since = site.get("/api/events", **{"from": older["events"][-1]["seq"]})

    assert [each["seq"] for each in since["events"]] == [each["seq"] for each in newest["events"]]
    assert newest["events"][-1]["said"]["words"] == "added"
    assert len(older["events"]) == 2


def live(site: Site, since: int | None = None) -> Any:
    """A listener to the stream of events."""
    url = f"{site.url.replace('http', 'ws')}/api/live" + ("" if since is None else f"?from={since}")
    return connect(url, additional_headers={"Authorization": f"Bearer {TOKEN}"})


def heard(socket: Any, number: int) -> list[int]:
    """The numbers of so many events."""
    found: list[int] = []
    while len(found) < number:
        said = json.loads(socket.recv(20))
        found += [each["seq"] for each in said.get("events", ())]
    return found


def test_the_stream_goes_on_from_a_number_and_misses_nothing(any_site: Site) -> None:
    """What happened before it came back, then what happens; each once, in order."""
    site = any_site
    first = site.bay.add("before", run="true")
    with live(site) as socket:
        assert json.loads(socket.recv(5))["type"] == "hello"
        site.bay.pause(first.id)
        at = heard(socket, 1)[-1]
    for number in range(7):
        site.bay.add(f"missed {number}", run="true")

    with live(site, at) as again, live(site, 0) as whole:
        missed = heard(again, 7)
        site.bay.resume(first.id)
        missed += heard(again, 1)
        everything = heard(whole, 2 + 7 + 1)

    assert missed == sorted(set(missed)) and missed[0] > at
    assert everything == [each.seq for each in site.bay.events()]


def test_one_who_comes_to_listen_takes_nothing_from_another() -> None:
    """Both ask how far the log goes; what happens before the second has its answer is still owed to the first."""

    class Answers:
        """Says how far the log goes, to each of them when it is let."""

        def __init__(self) -> None:
            self.asked: list[asyncio.Future[int]] = []

        async def call(self, ask: Any) -> int:
            self.asked.append(asyncio.get_running_loop().create_future())
            return await self.asked[-1]

    async def listened() -> tuple[Hub, int]:
        bays = Answers()
        hub = Hub(cast(Bays, bays), ManualClock())
        both = [asyncio.create_task(hub.listen()) for _ in range(2)]
        await asyncio.sleep(0)
        bays.asked[0].set_result(8)
        await both[0]
        bays.asked[1].set_result(9)
        await both[1]
        return hub, len(bays.asked)

    hub, asked = asyncio.run(listened())

    assert (hub.seq, asked) == (8, 2)


def test_the_log_of_an_attempt_is_read_by_line(site: Site, tmp_path: Any) -> None:
    """By number, from its end, at the cause, by search with the true count; a secret is not shown."""
    lines = [f"line {number}" for number in range(1, 3001)]
    lines[1499] = "connect ECONNREFUSED 10.0.0.1:443"
    lines[9] = "signed in with ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    script = tmp_path / "long.sh"
    script.write_text("cat <<'END'\n" + "\n".join(lines) + "\nEND\nexit 1\n")
    task = site.bay.add("long", run=["sh", str(script)])
    daemon = site.bay.daemon(workers=1)
    daemon.run(until=lambda: site.bay.get(task.id).status == "failed")
    path = f"/api/tasks/{task.id}/attempts/1/log"

    part = site.get(path, first=1499, count=3)
    assert (part["rows"][0]["n"], part["rows"][0]["text"]) == (1499, "line 1499")
    assert part["lines"] == 3000 and part["here"]
    assert site.get(path, count=2)["rows"][-1]["text"] == "line 3000"
    assert site.get(f"{path}/cause")["line"] == 1500
    assert site.get(f"{path}/search", text="line 29") == {
        "lines": [29, 290, *range(291, 300), *range(2900, 3000)],
        "total": 111,
    }
    assert site.get(f"{path}/search", text="^line 1.$", regex=True)["total"] == 9
    assert site.client.get(f"{path}/search", params={"text": "(", "regex": True}).status_code == 400
    assert site.get(f"{path}/error", line=1)["line"] == 1500
    assert "abcdefghijklmnop" not in json.dumps(site.get(path, first=1, count=20))
    assert "abcdefghijklmnop" not in site.client.get(f"{path}/raw").text
    assert site.client.get(f"{path}/raw").text.count("\n") == 3000
    assert site.client.get(f"/api/tasks/{task.id}/attempts/9/log").status_code == 404


def test_what_recurs_what_waits_for_what_and_who_works(any_site: Site) -> None:
    """The parts of the fleet."""
    site = any_site
    nightly = site.bay.add("nightly", run="true", cron="0 3 * * *", zone="Europe/Berlin")
    first = site.bay.add("first", run="true")
    after = site.bay.add("after", run="true", after=[first.id])
    site.engine()

    assert [each["how"] for each in site.get("/api/schedules")["tasks"]] == ["cron 0 3 * * * Europe/Berlin"]
    graph = site.get("/api/graph")
    assert graph["edges"] == [{"task": after.id, "after": first.id}]
    assert {each["id"] for each in site.get("/api/timeline")["rows"]} == {nightly.id, first.id, after.id}
    assert site.get("/api/workers")["workers"][0]["state"] == "alive"
    assert site.get("/api/session")["engines"] == 1


def test_health_and_figures(any_site: Site) -> None:
    """For whoever watches."""
    site = any_site
    site.bay.add("one", run="true")

    assert site.get("/healthz") == {"ok": True}
    text = site.client.get("/metrics").text
    assert 'medbay_tasks{status="pending"} 1.0' in text and "medbay_events_last_seq" in text


def test_what_failed_alike_is_known_and_forgotten(site: Site) -> None:
    """By its fingerprint, with the tasks that met it; a person says what it is."""
    task = site.world.add("pull rates", failed("something odd happened"), failed("something odd happened"))
    engine = site.engine()
    engine.tick()
    engine.tick()

    (known,) = site.get("/api/fingerprints")["fingerprints"]
    said = site.post(f"/api/tasks/{task.id}/reclassify", {"category": "transient/network"})
    assert said["after"] == "transient/network"
    assert site.get(f"/api/fingerprints/{known['fingerprint']}")["met_by"] == [{"id": task.id, "title": "pull rates"}]
    site.post(f"/api/fingerprints/{known['fingerprint']}/forget")
    assert site.get("/api/fingerprints")["fingerprints"] == []


@pytest.mark.parametrize(
    "title", ["<script>alert(1)</script>", "\x1b[2J", "\u202eevil", '"><img src=x onerror=alert(1)>']
)
def test_a_hostile_title_stays_a_text(site: Site, title: str) -> None:
    """It is data in every answer, and never part of the page."""
    task = site.post("/api/tasks", {"title": title, "run": "true", "tag": title[:90]})

    answer = site.client.get("/api/tasks")

    assert answer.headers["content-type"].startswith("application/json")
    assert answer.json()["tasks"][0]["title"] == title
    assert "alert" not in site.client.get(f"/tasks/{task['id']}").text


def test_a_triage_by_hand_runs_beside_the_page(site: Site) -> None:
    """Its verdict arrives as an event."""
    task = site.world.add("odd", failed("something odd happened"), failed("something odd happened"))
    engine = site.engine()
    engine.tick()
    engine.tick()

    assert site.post(f"/api/tasks/{task.id}/triage") == {"task": task.id, "started": True}
    wait_for(lambda: any(each.name.startswith("triage:") for each in site.bay.events(task_id=task.id)))

"""Captures, workorders and candidates by request: in pages, in the name of a person, refused where nothing is left."""

from __future__ import annotations

from tests.web.conftest import Site

THOUGHTS = ("login is flaky on Safari", "Safari login fails sometimes", "export the report as CSV")


def test_a_thought_becomes_a_task_by_request(any_site: Site) -> None:
    """Captured, made into candidates, edited, promoted and discarded; each names the other."""
    site = any_site
    ids = [site.post("/api/captures", {"text": each})["id"] for each in THOUGHTS]
    assert site.get(f"/api/captures/{ids[0]}")["created_by"].startswith("person:")
    site.bay.intake.once()

    listed = site.get("/api/candidates", status="PROPOSED")
    one, two = listed["candidates"]
    assert (listed["total"], listed["counts"], listed["next"]) == (2, {"PROPOSED": 2}, None)
    order = site.get(f"/api/workorders/{one['workorder']}")
    assert (order["status"], order["run_record"]["gate_result"]) == ("PASSED", "PASS")
    assert order["snapshot"]["full_prompt_text"] and order["pause_state"]["reason"] == "RUN_COMPLETE"
    path = f"/api/candidates/{one['id']}"
    changed = site.client.patch(path, json={"title": "Fix the login", "acceptance_criteria": ["it works"]}).json()
    assert (changed["title"], changed["acceptance_criteria"]) == ("Fix the login", ["it works"])

    promoted = site.post(f"{path}/promote", {"run": "true"})

    assert promoted["candidate"]["status"] == "PROMOTED" and promoted["candidate"]["task"] == promoted["task"]
    assert site.bay.get(promoted["task"]).title == "Fix the login"
    assert site.get(f"/api/captures/{one['captures'][0]}")["candidates"][0]["task"] == promoted["task"]
    assert site.client.post(f"{path}/promote", json={}).status_code == 409
    assert site.post(f"/api/candidates/{two['id']}/discard")["status"] == "DISCARDED"
    assert site.client.post(f"/api/candidates/{two['id']}/discard", json={}).status_code == 409
    assert site.client.post(f"/api/candidates/{ids[0]}/discard", json={}).status_code == 404


def test_a_capture_is_changed_released_and_discarded_by_request(site: Site) -> None:
    """While it waits; afterwards it is refused."""
    capture = site.post("/api/captures", {"text": "one"})["id"]
    path = f"/api/captures/{capture}"

    assert site.client.patch(path, json={"text": "another"}).json()["text"] == "another"
    assert site.post(f"{path}/retry")["status"] == "PENDING"
    assert site.post(f"{path}/discard")["status"] == "DISCARDED"
    assert site.client.patch(path, json={"text": "late"}).status_code == 409
    assert site.client.post("/api/captures", json={"text": ""}).status_code == 422
    assert site.client.post("/api/captures", json={"text": " \n"}).status_code == 400
    assert site.client.get("/api/captures/cap-none").status_code == 404
    assert site.client.get("/api/workorders/wo-none").status_code == 404


def test_captures_are_read_page_by_page(any_site: Site) -> None:
    """Each once, the oldest first, with how many there are in all."""
    site = any_site
    ids = [site.bay.intake.capture(f"thought {number}").id for number in range(7)]
    site.bay.intake.discard(ids[3])

    seen, cursor, pages = [], "", 0
    while cursor is not None:
        page = site.get("/api/captures", limit=2, cursor=cursor, status="PENDING")
        assert (page["total"], page["counts"]) == (6, {"PENDING": 6})
        seen += [each["id"] for each in page["captures"]]
        cursor, pages = page["next"], pages + 1

    assert sorted(seen) == sorted(set(ids) - {ids[3]}) and pages == 3
    assert site.get("/api/captures")["counts"] == {"DISCARDED": 1, "PENDING": 6}
    assert site.client.get("/api/captures", params={"cursor": "cap-none"}).status_code == 400
    assert site.client.get("/api/captures", params={"limit": 201}).status_code == 422
    assert site.get("/api/workorders")["workorders"] == []

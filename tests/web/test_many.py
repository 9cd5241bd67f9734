"""Many tasks at once by request: tags and kinds of failures, a graph that is folded, and lists that stay short."""

from __future__ import annotations

from typing import Any

from tests.web.conftest import Site
from tests.worlds import failed

ROWS_MAX = 200


def test_many_are_tagged_after_a_dry_run(any_site: Site) -> None:
    """Who has the tags already, or has ended, is passed over; nothing is meant by nothing."""
    site = any_site
    made = [site.bay.add(f"old {n}", run="true", tag=["old", "slow"], at="+1h") for n in range(3)]
    site.bay.cancel(made[0].id)
    body = {"choice": {"tag": ["old"]}, "add": ["new", "slow"], "remove": ["old"]}

    dry = site.post("/api/tasks/bulk/tag", body)
    assert (dry["done"], dry["skipped"]) == (2, [{"why": "cancelled", "number": 1}])
    assert site.bay.get(made[1].id).tags == ("old", "slow")
    done = site.post("/api/tasks/bulk/tag", {**body, "dry_run": False})

    assert sorted(done["ids"]) == sorted(each.id for each in made[1:])
    assert site.bay.get(made[1].id).tags == ("slow", "new")
    assert site.get("/api/tasks", tag="new")["total"] == 2
    again = site.post("/api/tasks/bulk/tag", {"ids": [made[1].id], "add": ["new"]})
    assert again["skipped"] == [{"why": "tagged so already", "number": 1}]
    for wrong in ({"add": ["x"]}, {"choice": {"tag": ["old"]}}):
        assert site.client.post("/api/tasks/bulk/tag", json=wrong).status_code == 400


def test_many_are_reclassified_and_each_fingerprint_is_taught_once(any_site: Site) -> None:
    """Later failures like them follow; what never failed is passed over."""
    site = any_site
    alike = [site.world.add(f"alike {n}", failed("the widget is bent"), tag=["bent"]) for n in range(3)]
    fine = site.bay.add("fine", run="true", tag="bent", at="+1h")
    engine = site.engine()
    for _ in range(3):
        engine.tick()
    body = {"choice": {"tag": ["bent"]}, "category": "transient/network"}

    dry = site.post("/api/tasks/bulk/reclassify", body)
    assert (dry["done"], dry["fingerprints"]) == (3, 1)
    assert dry["skipped"] == [{"why": "without a failure", "number": 1}]
    done = site.post("/api/tasks/bulk/reclassify", {**body, "dry_run": False})

    assert (done["done"], done["fingerprints"]) == (3, 1)
    (known,) = site.get("/api/fingerprints")["fingerprints"]
    assert (known["category"], known["taught"]["by"].startswith("person:")) == ("transient", True)
    assert site.bay.get(fine.id).last_category == "" and len(alike) == 3
    assert site.client.post("/api/tasks/bulk/reclassify", json={**body, "category": "odd"}).status_code == 400


def test_a_large_graph_is_folded_by_tag(site: Site) -> None:
    """One node for all tasks of a tag, with how many of them are stuck."""
    first = site.bay.add("build", run="true", tag="build", at="+1h")
    site.bay.add_many(
        [{"title": f"publish {n}", "run": "true", "tag": "publish", "after": [first.id]} for n in range(260)]
    )
    site.bay.block(first.id, "no", kind="human")

    whole, folded = site.get("/api/graph"), site.get("/api/graph", fold=True)

    assert len(whole["tasks"]) == ROWS_MAX and whole["more"] == 61
    by_tag = {each["tag"]: (each["tasks"], each["behind"]) for each in folded["groups"]}
    assert by_tag == {"publish": (260, 260), "build": (1, 0)} and folded["more"] == 0
    assert folded["edges"] == [{"tag": "publish", "after": "build", "number": 260}]


def test_no_list_answers_more_than_200_rows(site: Site) -> None:
    """Whatever there is, and whatever is asked for: the rest has a cursor or a number."""
    bay = site.bay
    bay.add_many([{"title": f"task {n}", "run": "true", "cron": "0 3 * * *"} for n in range(230)])
    bay.add_many([{"title": f"later {n}", "run": "true", "at": "+1h"} for n in range(230)])
    for n in range(230):
        bay.intake.capture(f"thought {n}")
    document: dict[str, Any] = site.get("/openapi.json")
    lists = [path for path, verbs in document["paths"].items() if "get" in verbs and "{" not in path]

    asked = [path for path in lists if path.startswith("/api/") and path != "/api/session"]
    for path in asked:
        for params in ({}, {"limit": ROWS_MAX}):
            answer = site.client.get(path, params=params)
            assert answer.status_code == 200, (path, answer.text)
            longest = max((len(each) for each in _lists(answer.json())), default=0)
            assert longest <= ROWS_MAX, (path, longest)
        if any(each["name"] == "limit" for each in document["paths"][path]["get"].get("parameters", ())):
            assert site.client.get(path, params={"limit": ROWS_MAX + 1}).status_code == 422, path
    assert {"/api/tasks", "/api/events", "/api/schedules", "/api/captures", "/api/graph"} <= set(asked)


def _lists(found: Any) -> list[list[Any]]:
    """Every list in an answer, however deep."""
    if isinstance(found, dict):
        return [each for value in found.values() for each in _lists(value)]
    return [found, *(each for value in found for each in _lists(value))] if isinstance(found, list) else []

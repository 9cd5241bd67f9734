"""Stories over the API: the board, one story, a person's move."""

from __future__ import annotations

from tests.web.conftest import Site


def test_the_board_shows_a_story_and_a_person_moves_it(site: Site) -> None:
    """Where the table allows it, in their name; what it does not allow is refused with what it does."""
    site.bay.stories.new("S-1", title="Export <b>", criteria=["opens"])

    columns = {each["directory"]: each["stories"] for each in site.get("/api/board")["columns"]}
    (card,) = columns["backlog"]
    assert (card["id"], card["title"], card["words"]) == ("S-1", "Export <b>", "pending")

    refused = site.client.post("/api/stories/S-1/move", json={"to": "uat"})
    assert refused.status_code == 409 and "pending" in refused.json()["error"]["message"]
    moved = site.client.post("/api/stories/S-1/move", json={"to": "blocked", "why": "wait for the design"})
    assert moved.status_code == 200, moved.text
    whole = site.get("/api/stories/S-1")
    assert (whole["status"], whole["directory"], whole["reason"]) == ("blocked", "blocked", "wait for the design")
    assert [each["to"] for each in whole["moves"] if each["allowed"]] == ["pending", "cancelled"]
    assert site.client.get("/api/stories/none").status_code == 404

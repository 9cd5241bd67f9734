"""Whose file an artifact is, and what a role left in the folder of its story."""

from __future__ import annotations

import json

import pytest

from medbay.core.workflow import shapes, written

ELAB = f"{shapes.FOLDER}/{shapes.ELAB}"
AUDIT = "story_id: S\nverdict: PASS\nelaborated_at: '2026-01-01T00:00:00Z'\n"
SHOWN = f"""
story_id: S
evidence:
  - {{criterion: 1, shows: a test, path: t.py, phase: implement, hash: {"a" * 64}}}
"""


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"files": 3}'])
def test_where_nobody_knows_what_we_wrote_nothing_is_ours(text: str | None) -> None:
    """A file that keeps it may be gone, or be anything."""
    assert written.known(text) == {}
    assert not written.is_ours(written.known(text), ELAB, AUDIT)


def test_the_newest_and_the_one_before_are_ours() -> None:
    """The newest is noted before it is written: after a crash the one before may still be there."""
    known = written.known(json.dumps({"files": {ELAB: [written.digest("old"), written.digest("new")]}}))

    assert [written.is_ours(known, ELAB, text) for text in ("old", "new", "other")] == [True, True, False]
    assert written.is_ours({"files": {ELAB: written.digest("new")}}, ELAB, "new")
    assert written.hashes_of({"files": {ELAB: [3]}}, ELAB) == []


def test_anothers_file_is_kept_under_a_name_of_its_content() -> None:
    """The same text at the same place, another one beside it."""
    first, again, other = (written.kept_name(ELAB, text) for text in ("a", "a", "b"))

    assert first == again != other
    assert first.startswith(f"{written.KEPT}/ELAB-") and first.endswith(".yaml")


def test_what_a_role_left_is_checked_and_what_is_ours_is_not() -> None:
    """A wrong shape with its place; evidence that it left as a file is handed on."""
    ours = {"files": {ELAB: written.digest("verdict: 3")}}

    assert written.left_by_role({shapes.ELAB: "verdict: 3"}, ours).as_result() == {}
    assert written.left_by_role({shapes.ELAB: AUDIT}, {}).as_result() == {}
    wrong = written.left_by_role({shapes.ELAB: AUDIT, shapes.GATE: "story_id: S\nverdict: 7\n"}, {})
    assert wrong.as_result() == {"malformed": "GATE.yaml: Expected `str`, got `int` - at `$.verdict`"}
    shown = written.left_by_role({shapes.EVIDENCE: SHOWN}, {}).as_result()
    assert shown == {"shown": [{"criterion": 1, "shows": "a test", "path": "t.py"}]}

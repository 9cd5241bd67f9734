"""A lifecycle as a table: what may move where, what is refused, and how it is drawn."""

from __future__ import annotations

import json

import pytest

from medbay.core.machine import Machine, Move, draw_json, draw_mermaid, draw_text
from medbay.errors import IllegalTransition, NotAllowed

DOOR = Machine(
    name="door",
    initial="shut",
    terminal=frozenset({"bricked-up"}),
    places={"shut": "hall", "bricked-up": "wall"},
    moves=(
        Move("shut", "open", "pushed: gently; or not"),
        Move("open", "shut", "pulled"),
        Move("shut", "bricked-up", "by a mason"),
    ),
)


def test_an_allowed_move_passes_in_silence() -> None:
    """No answer is the good answer."""
    DOOR.check("door-1", "shut", "open")


def test_an_illegal_move_names_subject_both_statuses_and_the_allowed_moves() -> None:
    """Whoever reads the error knows what would have worked."""
    with pytest.raises(IllegalTransition) as refused:
        DOOR.check("door-1", "open", "bricked-up")

    assert refused.value.message == "door-1 is open and may not become bricked-up"
    assert refused.value.hint == "from open it may become shut"
    assert isinstance(refused.value, NotAllowed)
    assert refused.value.exit_code == 4


def test_a_terminal_status_says_that_it_goes_nowhere() -> None:
    """There is no allowed move to name."""
    with pytest.raises(IllegalTransition, match="from bricked-up it may become nothing: it is terminal"):
        DOOR.check("door-1", "bricked-up", "open")


def test_a_status_may_not_become_itself_unless_the_table_says_so() -> None:
    """Standing still is a move like any other."""
    with pytest.raises(IllegalTransition):
        DOOR.check("door-1", "shut", "shut")


def test_an_unknown_status_has_no_moves() -> None:
    """A status nobody declared is refused, not guessed."""
    assert DOOR.allowed("ajar") == ()
    with pytest.raises(IllegalTransition):
        DOOR.check("door-1", "ajar", "open")


def test_the_allowed_moves_are_in_the_order_of_the_table() -> None:
    """The table reads the same everywhere."""
    assert DOOR.allowed("shut") == ("open", "bricked-up")
    assert DOOR.states == ("shut", "open", "bricked-up")


@pytest.mark.parametrize(
    ("moves", "initial", "complaint"),
    [
        ((Move("a", "end", ""), Move("end", "a", "")), "a", "end is terminal and may not move"),
        ((Move("a", "end", ""), Move("a", "end", "again")), "a", "a -> end stands twice"),
        ((Move("a", "b", ""),), "a", r"no way out of \['b'\]"),
        ((Move("a", "end", ""),), "start", r"no way out of \['start'\]"),
    ],
)
def test_a_table_with_a_mistake_is_refused(moves: tuple[Move, ...], initial: str, complaint: str) -> None:
    """A lifecycle that would trap a subject does not get built."""
    with pytest.raises(ValueError, match=complaint):
        Machine(name="wrong", initial=initial, moves=moves, terminal=frozenset({"end"}))


def test_the_text_has_one_line_per_move_and_per_terminal_status() -> None:
    """What `medbay lifecycle show` prints, with the directory of a status where it has one."""
    assert draw_text(DOOR).splitlines() == [
        "door: starts as shut; ends as bricked-up",
        "  shut       -> open        pushed: gently; or not  [hall/]",
        "  shut       -> bricked-up  by a mason  [hall/]",
        "  open       -> shut        pulled",
        "  bricked-up is terminal  [wall/]",
    ]


def test_the_mermaid_diagram_has_only_names_mermaid_can_read() -> None:
    """A hyphen in a name and a colon or semicolon in a label would break the drawing."""
    assert draw_mermaid(DOOR).splitlines() == [
        "stateDiagram-v2",
        "    [*] --> shut",
        '    state "bricked-up" as bricked_up',
        "    shut --> open: pushed, gently, or not",
        "    open --> shut: pulled",
        "    shut --> bricked_up: by a mason",
        "    bricked_up --> [*]",
    ]


def test_the_json_is_the_whole_table() -> None:
    """Programs get everything people see."""
    drawn = json.loads(draw_json(DOOR))

    assert drawn == {
        "name": "door",
        "initial": "shut",
        "terminal": ["bricked-up"],
        "states": ["shut", "open", "bricked-up"],
        "moves": [
            {"from": "shut", "to": "open", "trigger": "pushed: gently; or not"},
            {"from": "open", "to": "shut", "trigger": "pulled"},
            {"from": "shut", "to": "bricked-up", "trigger": "by a mason"},
        ],
        "places": {"shut": "hall", "bricked-up": "wall"},
    }

"""Records that are made quickly are records like any other."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, replace

import pytest

from medbay.core.quick import quick


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Quick:
    """A record with every kind of default."""

    wanted: int
    given: str = "given"
    made: dict[str, int] = field(default_factory=dict)


def test_a_quick_record_has_its_values_and_defaults() -> None:
    """Those that are made are made for each."""
    one, two = Quick(wanted=1), Quick(wanted=1)

    assert (one.wanted, one.given, one.made) == (1, "given", {})
    assert one == two
    assert one.made is not two.made
    assert type(one) is Quick
    assert asdict(replace(one, given="other")) == {"wanted": 1, "given": "other", "made": {}}
    assert repr(one).endswith("Quick(wanted=1, given='given', made={})")


def test_a_quick_record_is_frozen() -> None:
    """Also after it was made."""
    one = Quick(wanted=1)

    with pytest.raises(FrozenInstanceError):
        one.wanted = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        object.__setattr__(one, "other", 2)
    assert hash(replace(one, made=None)) == hash(replace(one, made=None))  # type: ignore[arg-type]


def test_a_quick_record_refuses_what_it_does_not_have() -> None:
    """And what was left out is named."""
    with pytest.raises(TypeError, match="wanted"):
        Quick()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="other"):
        Quick(wanted=1, other=2)  # type: ignore[call-arg]


def test_a_quick_record_can_be_copied() -> None:
    """By both ways the library has."""
    one = Quick(wanted=1, made={"a": 1})

    assert copy.copy(one) == one == pickle.loads(pickle.dumps(one))

"""Properties of what a phase wants decided: never lighter than the table says, never an answer that was not offered."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from medbay.core.workflow import question
from medbay.core.workflow.answer import WantedDecision
from medbay.core.workflow.records import DecisionKind

WEIGHT = ("trivial", "reversible", "costly", "irreversible")
WORDS = st.lists(
    st.sampled_from("drop rename publish the table module name colour schema timeout key of it? now".split()),
    min_size=1,
    max_size=8,
).map(" ".join)
KINDS = st.sampled_from(WEIGHT)
OPTIONS = st.lists(st.text("abc", min_size=1, max_size=3), max_size=4, unique=True).map(tuple)


@given(WORDS, KINDS)
def test_a_role_may_only_make_a_decision_weightier(words: str, kind: DecisionKind) -> None:
    """Where a rule knows the words, what the role says itself counts only if it weighs more."""
    by_rule, why = question.classify(WantedDecision(question=words))
    said, _ = question.classify(WantedDecision(question=words, kind=kind))

    known = why != "no rule knows it"
    assert said == (max(by_rule, kind, key=WEIGHT.index) if known else kind)


@given(WORDS, OPTIONS, st.text("abcd", max_size=3), st.text("abcd", min_size=1, max_size=3))
def test_what_is_decided_here_was_offered(words: str, options: tuple[str, ...], default: str, chosen: str) -> None:
    """By a preference that fits, else by the default; whatever the spelling of the question's signs."""
    wanted = WantedDecision(question=words, options=options, default=default)
    known = {question.scope_of(f"  {words.upper()} !"): chosen}

    answer, by = question.decided(wanted, known)

    fits = not options or chosen in options
    assert (answer, by) == (chosen, "preference") if fits else by == "default"
    assert by == "preference" or answer == (default or (options[0] if options else "as you think best"))

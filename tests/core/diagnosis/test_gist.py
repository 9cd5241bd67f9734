"""What a failure that no rule recognises is about: topics of complaints, and of the names of exceptions."""

from __future__ import annotations

import pytest

from medbay.core.diagnosis.findings import Finding
from medbay.core.diagnosis.gist import gist_of, named_gist
from medbay.core.diagnosis.rule import Rule
from medbay.core.diagnosis.rules.gist import GISTS, NAMES
from medbay.core.diagnosis.text import clean
from tests.core.diagnosis.samples import why


@pytest.mark.parametrize("topic", GISTS, ids=[topic.id for topic in GISTS])
def test_a_topic_is_told_from_its_examples(topic: Rule) -> None:
    """And not from the counter-example."""
    for hit in topic.hits:
        found = gist_of(clean(hit))
        assert found is not None
        assert found.rule is topic, hit
    other = gist_of(clean(topic.miss))
    assert other is None or other.rule is not topic


@pytest.mark.parametrize("topic", NAMES, ids=[topic.id for topic in NAMES])
def test_the_name_of_an_exception_tells_its_topic(topic: Rule) -> None:
    """And another name does not."""
    assert _named(topic.hits[0]) is topic
    assert _named(topic.miss) is not topic


def _named(name: str) -> Rule | None:
    found = named_gist(clean(f"{name}: order 7"), Finding(NAMES[0], 0, 0, "", 1.0))
    return found.rule if found else None


def test_a_complaint_nobody_described_is_an_error_of_the_code_at_low_confidence() -> None:
    """The most frequent kind, said as the guess it is."""
    found = why("car: contract vexed\n*** - CAR: 5 is no list of ours\n")

    assert found.kind == "code_error"
    assert found.confidence < 0.7
    assert found.pattern.excerpt == "*** - CAR: 5 is no list of ours"


def test_an_exception_whose_name_says_why_is_no_error_of_the_code() -> None:
    """`RecordTooLargeException` is thrown because of size; the thrown exception stays the runner-up."""
    found = why("org.acme.RecordTooLargeException: 2097239 bytes")

    assert found.category == "resource_exhaustion"
    assert found.runners_up[0].category == "code_error"


def test_only_the_end_of_a_long_log_is_taken_for_its_gist() -> None:
    """Words in passing in the middle of a log decide nothing."""
    steps = "\n".join(f"step {name} of the network went by" for name in "abcdefghijklmnopqrstuvw")

    assert why(f"cache was never used\n{steps}\n").kind == "unknown"
    assert why(f"{steps}\nsilly: the oven never got hot\n").kind == "code_error"


def test_before_a_list_of_what_could_have_been_meant_stands_the_message() -> None:
    """Tools that print all their drivers or options after what they did not understand."""
    drivers = "\n".join(f"  {name * 3}: raster {name}" for name in "abcdefghijklmnopqrst")

    assert why(f"Output kind `PNGG' is odd and illegal\nThese are known:\n{drivers}\n").kind == "code_error"
    assert why(f"All is fine here\nThese are known:\n{drivers}\n").kind == "unknown"


@pytest.mark.parametrize(
    "text",
    [
        "make: *** [Makefile:12: deploy] Error 1",
        "An unexpected error occurred.",
        "Job 12 failed",
        "The deployment failed. Please contact support.",
        "Finished with errors",
        "Caching 12 entries, max size 10 MB, timeout 30 s",
        "sync finished: 12 files copied, 0 failed",
    ],
)
def test_that_something_failed_is_no_cause(text: str) -> None:
    """Nobody could tell why from such a line."""
    assert why(f"{text}\n").category == "unknown"


def test_warnings_tell_where_there_is_nothing_else() -> None:
    """A tool that ends with a warning means it."""
    assert why('WARNING: erroneous pipeline: no element "videotestsrc"\n').kind == "code_error"
    assert why("WARNING: cache was never used\nall is fine\n", exit_code=0).kind == "unknown/no_failure"


def test_a_complaint_before_the_status_of_a_child_says_why() -> None:
    """`exit status 1` is how the wrapper ended, not its cause; that a command failed is no cause either."""
    assert why("sync: invoice 12 has negative total\nexit status 1\n").kind == "code_error"
    assert why("$ ./deploy.sh\nerror Command failed with exit code 1.\n").kind == "unknown"
    assert why("parallel: This job failed:\nexit 3\n").kind == "unknown"


def test_what_a_wrapped_command_said_decides_and_not_that_it_failed() -> None:
    """A compiler's message before `command failed with exit code 1: npm run build`."""
    found = why("src/index.astro:3:8 Expected ; but found foo\nCommand failed with exit code 1: npm run build\n")

    assert found.category == "code_error"
    assert str(found.location) == "src/index.astro:3:8"


def test_a_program_that_ends_with_127_and_tells_why_is_believed() -> None:
    """A shell that misses a command says so; an interpreter with that status told of something else."""
    told = "escript: exception error: an error occurred when evaluating an arithmetic expression"

    assert why(told, exit_code=127).category == "code_error"
    assert why("sh: 1: kubectlx: not found", exit_code=127).kind == "dependency_missing/command"
    assert why("", exit_code=127).kind == "dependency_missing/command"


def test_an_alarm_is_a_time_limit() -> None:
    """SIGALRM is set by whoever wants to be stopped."""
    assert why("", exit_code=142).kind == "timeout/limit"

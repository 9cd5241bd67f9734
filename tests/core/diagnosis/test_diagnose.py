"""The must-hold examples, facts before text, what the work says itself, and what follows from each kind."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest

from medbay.core.diagnosis import CATEGORIES, Location, diagnose
from tests.core.diagnosis.samples import NOW, why


def test_a_network_time_out_is_transient() -> None:
    """One of the cases that must always hold."""
    found = why("Network timeout: ETIMEDOUT")

    assert found.kind == "transient/network"
    assert found.confidence > 0.8


def test_a_compiler_position_is_a_code_error_at_that_place() -> None:
    """One of the cases that must always hold."""
    found = why('file.ts(45,12): error TS2304: Cannot find name "foo"')

    assert found.category == "code_error"
    assert found.location == Location("file.ts", 45, 12)
    assert str(found.location) == "file.ts:45:12"


def test_a_crash_in_a_call_is_at_the_users_line_and_not_in_what_called_it() -> None:
    """The interpreter prints the most recent call first; below it is the worker process."""
    report = (
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f (most recent call first):\n"
        '  File "/srv/app/jobs.py", line 10 in crash\n'
        '  File "/srv/tools/medbay/runners/python/worker.py", line 68 in main\n'
        '  File "<string>", line 1 in <module>\n'
    )

    assert why(report, exit_code=-11).location == Location("/srv/app/jobs.py", 10, None)


def test_a_failed_expectation_is_a_test_failure() -> None:
    """One of the cases that must always hold."""
    assert why("Test failed: expect(received).toEqual(expected)").category == "test_failure"


@pytest.mark.parametrize(
    ("facts", "kind", "retryable"),
    [
        ({"timed_out": True}, "timeout/limit", True),
        ({"stalled": True}, "timeout/stalled", True),
        ({"memory_limit_hit": True}, "resource_exhaustion/memory", True),
        ({"cpu_limit_hit": True, "signal": 9}, "timeout/limit", True),
        ({"log_limit_hit": True, "signal": 9}, "resource_exhaustion/disk", True),
        ({"spawn_error": "working directory does not exist: /x (ENOENT)"}, "dependency_missing/file", True),
        ({"exit_code": 124}, "timeout/limit", True),
        ({"exit_code": 126}, "unknown/permission", False),
        ({"exit_code": 127}, "dependency_missing/command", False),
        ({"exit_code": 137}, "resource_exhaustion/memory", True),
        ({"exit_code": None, "signal": 9}, "resource_exhaustion/memory", True),
        ({"exit_code": -11}, "code_error/crash", True),
        ({"exit_code": 139}, "code_error/crash", True),
        ({"exit_code": 134}, "code_error/crash", True),
        ({"exit_code": 143}, "unknown/interrupted", True),
        ({"exit_code": 130}, "unknown/interrupted", True),
        ({"exit_code": 75}, "transient", True),
        ({"exit_code": 78}, "code_error/config", False),
        ({"exit_code": 0}, "unknown/no_failure", True),
        ({"exit_code": 1}, "unknown", True),
        ({"exit_code": None}, "unknown", True),
        ({"spawn_error": "[Errno 2] No such file or directory: 'claudex'"}, "dependency_missing/command", False),
        ({"spawn_error": "[Errno 13] Permission denied: './run'"}, "unknown/permission", False),
        ({"spawn_error": "[Errno 11] Resource temporarily unavailable"}, "transient/spawn", True),
    ],
)
def test_facts_decide_where_the_text_is_silent(facts: dict[str, object], kind: str, retryable: bool) -> None:
    """Who enforced what, signals and exit statuses mean something by themselves."""
    found = why("working\n", **facts)

    assert found.kind == kind
    assert found.retryable is retryable


def test_a_time_limit_enforced_by_the_runner_beats_any_text() -> None:
    """Structured facts come before text; the text's own reading stays as a runner-up."""
    found = why("ModuleNotFoundError: No module named 'x'", timed_out=True)

    assert found.kind == "timeout/limit"
    assert found.pattern.rule == "fact.timed_out"
    assert "missing.module" in [other.rule for other in found.runners_up]


def test_a_kill_with_a_cause_in_sight_has_that_cause() -> None:
    """137 is memory only when nothing else explains it."""
    assert why("timeout: sending signal KILL to command 'bash'", exit_code=137).category == "timeout"
    assert why("indexing\nKilled", exit_code=137).kind == "resource_exhaustion/memory"


def test_a_missing_command_names_it_in_the_advice() -> None:
    """Exit 127 with the shell's sentence."""
    found = why("deploy.sh: line 3: kubectlx: command not found", exit_code=127)

    assert found.kind == "dependency_missing/command"
    assert found.location == Location("deploy.sh", 3)
    assert found.charge is False


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (
            "ModuleNotFoundError: No module named 'requests'",
            "Add requests to pyproject.toml or requirements.txt, pin its version",
        ),
        (
            "ERROR: No matching distribution found for nope==1.0 (from -r requirements.txt)",
            "Correct the name or version of nope==1.0 in requirements.txt",
        ),
        ("error: no matching package named `serde_x` found\nlocation: Cargo.toml", "serde_x in Cargo.toml"),
        ("Could not find gem 'rails' version '>= 9.1' in Gemfile", "rails 9.1 in Gemfile"),
    ],
)
def test_advice_for_a_dependency_names_what_the_output_names(text: str, advice: str) -> None:
    """Package, pinning file and version."""
    assert advice in why(text).suggested_fix


@pytest.mark.parametrize(
    ("text", "kind", "charge", "session", "retryable"),
    [
        ("Error 429: rate limit reached", "transient/rate_limit", False, "resume", True),
        ("Claude AI usage limit reached|1786910000", "transient/usage_limit", False, "resume", True),
        ("429 Insufficient balance", "resource_exhaustion/quota", False, "resume", False),
        ("HTTP/1.1 503 Service Unavailable", "transient/service", False, "resume", True),
        ("fatal: Authentication failed for 'https://x/'", "unknown/auth", False, None, False),
        ("OSError: [Errno 28] No space left on device", "resource_exhaustion/disk", False, None, True),
        ("prompt is too long: 210000 tokens > 200000", "resource_exhaustion/context_window", True, "fresh", True),
        ("CONFLICT (content): Merge conflict in f", "unknown/conflict", True, "fresh", True),
        ("agent output rejected: 2 validation errors for T", "unknown/malformed_output", True, "resume", True),
        ("sqlite3.OperationalError: database is locked", "transient/lock", False, "resume", True),
        ("error: unrecognized arguments: --x", "code_error/config", False, None, False),
        ("curl: (60) SSL certificate problem: self-signed certificate", "unknown/config", False, None, False),
    ],
)
def test_each_kind_has_its_consequences(
    text: str, kind: str, charge: bool, session: str | None, retryable: bool
) -> None:
    """Who is charged, who is retried, which session goes on: the whole table."""
    found = why(text)

    assert (found.kind, found.charge, found.session, found.retryable) == (kind, charge, session, retryable)


def test_a_used_share_of_a_limit_is_no_failure() -> None:
    """ "Used 97 % of your limit, resets ..." warns, it does not refuse."""
    found = why("You've used 97% of your weekly limit, resets 6pm\nTypeError: x is undefined")

    assert found.category == "code_error"


def test_a_limit_with_a_time_says_when_and_whose() -> None:
    """`retry_after_ms` and `provider` from an agent's own result record."""
    found = why(
        '{"type":"result","is_error":true,"api_error_status":429,'
        '"result":"Claude: you\'ve hit your limit · resets 9:30pm (Europe/Berlin)"}'
    )

    assert found.kind == "transient/usage_limit"
    assert found.provider == "anthropic"
    assert found.retry_after_ms == int((NOW + timedelta(hours=1, minutes=30)).timestamp() * 1000)


@pytest.mark.parametrize(
    ("text", "provider"),
    [
        ("groq.RateLimitError: Error code: 429 - rate limit", "groq"),
        ("Azure OpenAI: 429 rate limit, please retry after 26 seconds", "azure"),
        ("openai/gpt-4o via openrouter: 429 rate limit", "openrouter"),
        ("An error occurred (ThrottlingException) when calling the InvokeModel operation: Rate exceeded", "aws"),
        ("telegram.error.RetryAfter: Flood control exceeded. Retry in 43 seconds", "telegram"),
        ("slack_sdk.errors.SlackApiError: 429 rate limited", "slack"),
    ],
)
def test_a_limit_names_whose_it_is(text: str, provider: str) -> None:
    """Of two names the one that enforces it."""
    found = why(text)

    assert found.kind == "transient/rate_limit"
    assert found.provider == provider


def test_the_runner_tells_the_provider_when_the_text_does_not() -> None:
    """A profile named codex talks to openai; a compile error belongs to nobody."""
    assert why("HTTP 503 Service Unavailable", runner="codex").provider == "openai"
    assert why("HTTP 503 Service Unavailable").provider is None
    assert why("a.c:3:5: error: x", runner="codex").provider is None


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        ({"category": "transient", "subcategory": "rate_limit"}, "transient/rate_limit"),
        ({"category": "transient/lock"}, "transient/lock"),
        ({"category": "auth", "summary": "key expired"}, "unknown/auth"),
        ({"category": "config_error"}, "code_error/config"),
        ({"error_type": "PRECONDITION_FAILED"}, "dependency_missing/precondition"),
        ({"type": "EXTERNAL_SERVICE_DOWN"}, "transient/service"),
        ({"type": "AGENT_TIMEOUT"}, "timeout/limit"),
        ({"type": "MALFORMED_OUTPUT"}, "unknown/malformed_output"),
        ({"type": "AGENT_SPAWN_FAILED"}, "transient/spawn"),
        ({"type": "KeyError", "message": "'total'"}, "code_error/runtime"),
        ({"message": "connection refused"}, "transient/network"),
        ({"traceback": "Traceback (most recent call last):\n  File \"a.py\", line 3\nMemoryError"},
         "resource_exhaustion/memory"),
        ({"category": "nonsense"}, "unknown"),
        ({"category": 7}, "unknown"),
        ({}, "unknown"),
    ],
)  # fmt: skip
def test_what_the_work_says_itself_is_believed(result: Mapping[str, object], kind: str) -> None:
    """`MEDBAY_RESULT` and exceptions of Python tasks."""
    assert why("", result=result).kind == kind


def test_a_result_may_say_when_to_try_again() -> None:
    """Seconds, as in `Retry-After`."""
    found = why("", result={"category": "transient", "retry_after": 60})

    assert found.retry_after_ms == int((NOW + timedelta(minutes=1)).timestamp() * 1000)


def test_exit_zero_with_an_error_record_is_a_failure() -> None:
    """Some agents end well and say otherwise; words in a passing log decide nothing."""
    assert why('{"subtype":"error_max_turns","is_error":true}', exit_code=0).kind == "resource_exhaustion/iterations"
    passed = why("Error: connect ECONNREFUSED\n  1 passing (3ms)", exit_code=0)
    assert passed.kind == "unknown/no_failure"
    assert passed.location is None


def test_a_suite_that_did_not_start_has_not_failed_its_tests() -> None:
    """What kept it from starting decides; with failing tests beside it, they decide."""
    broken = (
        "  ● Test suite failed to run\n    Cannot find module 'zodd' from 'a.test.js'\nTest Suites: 1 failed, 1 total\n"
    )

    assert why(broken + "Tests:       0 total\n").kind == "dependency_missing/module"
    assert why(broken + "Tests:       1 failed, 1 total\n").category == "test_failure"
    assert why("Test suite failed to run\n1 failed, 0 passed").category == "test_failure"


def test_a_package_not_found_after_the_network_failed_is_the_network() -> None:
    """It was never looked for."""
    assert (
        why(
            "WARNING: Retrying after connection broken by 'NewConnectionError: Connection refused'\n"
            "ERROR: No matching distribution found for six"
        ).category
        == "transient"
    )
    assert why("ERROR: No matching distribution found for six").category == "dependency_missing"


def test_the_exception_that_ended_the_run_decides() -> None:
    """Not the trouble it survived before."""
    text = (
        "could not connect to server redis: Connection refused, using memory\n"
        "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    d['x']\nKeyError: 'x'\n"
    )
    assert why(text).category == "code_error"


def test_a_chain_of_exceptions_counts_as_one() -> None:
    """The cause at its beginning still belongs to it."""
    text = (
        'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n'
        "ConnectionRefusedError: [Errno 111]\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\nMyWrapped: gave up\n'
    )
    found = why(text)

    assert found.category == "transient"
    assert found.location == Location("a.py", 3)


def test_a_bare_traceback_is_summed_up_by_its_last_line() -> None:
    """Also when the exception's name ends in nothing we know."""
    found = why('Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\nStopIteration')

    assert found.category == "code_error"
    assert "StopIteration" in found.summary
    assert "a.py:3" in found.summary


def test_summaries_are_one_short_line() -> None:
    """However long the text and the path are."""
    found = why("x" * 50 + "/" + "y" * 150 + ".py:3:5: error: " + "bad " * 400)

    assert "\n" not in found.summary
    assert len(found.summary) <= 260
    assert len(found.pattern.excerpt) <= 300


@pytest.mark.parametrize(
    "text",
    [
        "Done in 4.2s (429 modules, 503 chunks)",
        "compiled src/network.ts\ntest_timeout_is_reported PASSED",
        "4 passed, 0 failed",
        "✓ handles ECONNREFUSED (3 ms)",
        "warning: connection refused, retrying (attempt 1)\nall good",
    ],
)
def test_words_and_numbers_in_passing_decide_nothing(text: str) -> None:
    """429 as a count, a file named network.ts, a test named for a time-out, "0 failed"."""
    found = why(text)

    assert found.category == "unknown" or found.pattern.rule == "net.refused"


def test_every_diagnosis_is_one_of_seven() -> None:
    """And says unknown below a confidence of 0.5."""
    found = diagnose(b"", now=NOW)

    assert found.category in CATEGORIES
    assert found.kind == "unknown"

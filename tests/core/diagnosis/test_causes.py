"""Causes and what only follows from them: passed steps, dumps, pipes, limits, refusals, and how sure it is."""

from __future__ import annotations

import pytest

from tests.core.diagnosis.samples import why

TAR = (
    "tar (child): /no/dir/x.tgz: Cannot open: No such file or directory",
    "tar: -: Cannot write: Broken pipe",
    "tar: Child returned status 2",
)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (1, 2, 0)])
def test_a_named_cause_beats_a_broken_pipe_in_any_order(order: tuple[int, ...]) -> None:
    """The pipe broke because the process behind it had ended."""
    found = why("\n".join(TAR[each] for each in order), exit_code=2)

    assert found.kind == "dependency_missing/file"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("client_loop: send disconnect: Broken pipe", "transient/network"),
        ("write tcp 10.0.0.1:443: write: broken pipe", "transient/network"),
        ("sort: write failed: 'standard output': Broken pipe", "unknown/pipe"),
        ("Error: write EPIPE", "unknown/pipe"),
        (
            "sort: invalid number at field start: invalid count at start of 'zero'\n"
            "Traceback (most recent call last):\n"
            '  File "<string>", line 1, in <module>\nBrokenPipeError: [Errno 32] Broken pipe',
            "code_error/config",
        ),
        ("gzip: the archive must not be empty\ncat: write error: Broken pipe", "code_error"),
    ],
)
def test_a_broken_pipe_is_the_networks_only_on_a_connection(text: str, kind: str) -> None:
    """Of local processes it says that the one at the other side ended first."""
    assert why(text).kind == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            "+ npm ci\nnpm ERR! network ECONNREFUSED\n+ npm run build\nTypeError: x is not a function",
            "code_error/runtime",
        ),
        ("+ a\nconnect ECONNREFUSED 1.2.3.4:80\n+ rm -rf tmp\n+ exit 1", "transient/network"),
        ("+ one\n+ exit 3\nconnect ECONNREFUSED 1.2.3.4:80", "transient/network"),
        ("+ exit 3\n+ echo bye\nconnect ECONNREFUSED 1.2.3.4:80", "transient/network"),
        ("@@ -1 +1 @@\n+ a\n+ b\nconnect ECONNREFUSED 1.2.3.4:80", "transient/network"),
        (
            "curl: (7) Failed to connect to 10.0.0.1 port 80\nmirror ok after 3 tries\n"
            "app.lua:2:25: expected ')' near 'do'",
            "code_error/compile",
        ),
        ("connect ECONNREFUSED 10.0.0.1:80\nattempt 2 succeeded\nthe totals differ, giving up", "code_error"),
        ("connect ECONNREFUSED 10.0.0.1:80\nstill not connected after 3 attempts", "transient/network"),
        (
            "=== RUN   TestTimesOut\n  1/3 Test #1: timeout_test ....   Passed    0.01 sec\n"
            "the totals differ, giving up",
            "code_error",
        ),
    ],
)
def test_a_step_that_passed_decides_nothing(text: str, kind: str) -> None:
    """Nor a retry that succeeded, nor a test that passed."""
    assert why(text).kind == kind


def test_the_clean_up_of_a_ci_service_decides_nothing() -> None:
    """It comes after the step that failed."""
    log = "src/a.c:3:1: error: expected ';'\n##[error]Process completed with exit code 1.\nPost job: Access Denied\n"

    assert why(log).kind == "code_error/compile"


def test_bullets_and_crosses_of_a_transcript_are_no_tests() -> None:
    """An agent prints them before each of its steps."""
    found = why("● Bash(make check)\n  ⎿  done\n  ✗ the check failed\nconnect ECONNREFUSED 10.0.0.7:5432")

    assert found.kind == "transient/network"
    assert why("  ✕ adds an item (3 ms)\n1 failed, 2 passed").category == "test_failure"


def test_the_message_of_an_exception_outranks_what_it_dumps() -> None:
    """JavaScript prints all fields of an error after its frames."""
    dump = "HTTPError: Request failed with status code 503 (Service Unavailable)\n    at f (/app/a.js:1:2) {\n"
    fields = "  codes: [ 'EADDRINUSE' ],\n  password: ''\n}\n"

    assert why(f"{dump}{fields}\nNode.js v20\n").kind == "transient/service"
    assert why(f"{dump}{fields.replace('}', '')}").kind == "transient/service"
    cause = "TypeError: fetch failed\n    at node:internal/deps:1:2 {\n  [cause]: connect ECONNREFUSED 10.0.0.9:9\n}\n"
    assert why(cause).kind == "transient/network"
    assert why("Error: it broke\n    at f (/app/a.js:1:2) {\n  code: 'EADDRINUSE'\n}\n").kind == "transient/lock"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            "d: Can't create 'd': Permission denied\nd/f: Failed to create 'd': No such file or directory",
            "unknown/permission",
        ),
        (
            'Unable to locate credentials\nTraceback (most recent call last):\n  File "a.py", line 1\nRuntimeError: 1',
            "unknown/auth",
        ),
        ("RuntimeError: 1", "code_error/runtime"),
        (
            "npm ERR! Could not read package.json: Error: ENOENT: no such file, open '/a/package.json'",
            "dependency_missing/file",
        ),
        ("Error acquiring the state lock: it is held\nThe conditional request failed", "transient/lock"),
        ("CONFLICT (content): Merge conflict in f", "unknown/conflict"),
        (
            "Object does not exist (_SB.A)\nCompilation failed. 1 Errors, 0 Warnings\n"
            "No files were generated due to compiler error(s)",
            "code_error/compile",
        ),
    ],
)
def test_a_stated_cause_outranks_its_mechanism(text: str, kind: str) -> None:
    """What follows from it may stand nearer to the end."""
    assert why(text).kind == kind


@pytest.mark.parametrize(
    ("text", "provider", "named"),
    [
        ("5-hour limit reached ∙ resets 3am", "anthropic", True),
        ("You've hit your limit · resets 3am (UTC)", "anthropic", True),
        ("quota exceeded, resets 3am", None, True),
        ("You have hit your usage limit.\nresets at 3am", None, True),
        ("You've hit your usage limit. Purchase more credits or try again at Aug 18th, 2026 12:00 AM.", None, True),
        ("You exceeded your current quota, check your plan and billing details.\nPlease retry in 34.5s.", None, True),
        (
            "API Error: 400 You have reached your specified API usage limits. "
            "You will regain access on 2026-09-01 at 00:00 UTC.",
            None,
            True,
        ),
    ],
)
def test_a_named_time_outranks_the_offer_to_buy(text: str, provider: str | None, named: bool) -> None:
    """It is waited for, and whose limit it is is known where the sentence is one tool's own."""
    found = why(text)

    assert found.kind == "transient/usage_limit"
    assert found.provider == provider
    assert (found.retry_after_ms is not None) is named


def test_money_is_no_limit_that_resets() -> None:
    """Although the answer names a time to try again."""
    assert why("429 Insufficient balance. Please retry in 20s.").kind == "resource_exhaustion/quota"
    assert (
        why("You exceeded your current quota, check your plan and billing details.").kind == "resource_exhaustion/quota"
    )


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("messages.2: `tool_use` ids were found without `tool_result` blocks immediately after", "code_error/session"),
        ("API Error: 400 due to tool use concurrency issues.", "code_error/session"),
        ("API Error: 400 Output blocked by content filtering policy", "unknown/refused"),
        (
            "This request would exceed the 200000 token context window, please retry later",
            "resource_exhaustion/context_window",
        ),
    ],
)
def test_what_an_agent_met_begins_afresh(text: str, kind: str) -> None:
    """A poisoned session, a refusal, a context that is full: charged, never waited for."""
    found = why(text)

    assert found.kind == kind
    assert (found.charge, found.session, found.retryable) == (True, "fresh", True)


@pytest.mark.parametrize(
    "text",
    [
        "We're currently experiencing high demand, which may cause temporary errors.",
        "Request to the API failed (503)",
        "SyntaxError: Unexpected token '<', \"<!DOCTYPE \"... is not valid JSON",
    ],
)
def test_a_service_that_fails_is_waited_for(text: str) -> None:
    """Also when it answers with what nobody can read."""
    found = why(text)

    assert found.category == "transient"
    assert not found.charge


@pytest.mark.parametrize(
    "text",
    [
        "There's an issue with the selected model (x-5). It may not exist or you may not have access to it.",
        "access to this model has been disabled for your organization",
        "Error: No key found - add one using 'llm keys set openai'",
        "GITHUB_TOKEN is not set",
        "KeyError: 'GITHUB_TOKEN'",
        "bash: line 1: TARGET_ENV: unbound variable",
        "Traceback (most recent call last):\n  File \"<frozen os>\", line 679, in __getitem__\nKeyError: 'STAGE_NAME'",
        "You must specify a region. You can also configure your region.",
        "remote: Resource not accessible by integration",
    ],
)
def test_what_only_a_person_can_set_goes_to_a_person(text: str) -> None:
    """Surely enough to be asked at once."""
    found = why(text)

    assert not found.retryable
    assert found.confidence >= 0.8


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("E   Failed: Timeout >5.0s\nFAILED t.py::test_x - Failed: Timeout >5.0s\n1 failed in 5s", "timeout/test"),
        (
            'Traceback (most recent call last):\n  File "/usr/lib/python3/http/client.py", line 9, in read\n'
            "TimeoutError: slow",
            "transient/network",
        ),
        (
            "RequestError: Timeout awaiting 'request' for 1500ms\n  name: 'TimeoutError',\n  code: 'ETIMEDOUT'",
            "transient/network",
        ),
        ("asyncio.exceptions.TimeoutError: step 3", "timeout/operation"),
        ("Timeout: No Response from 127.0.0.1:161.", "transient/network"),
    ],
)
def test_whose_time_ran_out(text: str, kind: str) -> None:
    """A test's own limit is a time limit; a time-out inside a network library is the network's."""
    assert why(text).kind == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("CPU usage limit exceeded", "resource_exhaustion"),
        ("cpu usage at 100%", "resource_exhaustion"),
        ("missing import foo", "dependency_missing/module"),
        ("Type error: Argument of type 'string' is not assignable to parameter of type 'number'", "code_error/type"),
        ("app.RateLimited: slow down", "transient/rate_limit"),
        ("c.json: Parse error on line 1:", "code_error/syntax"),
    ],
)
def test_well_known_sentences_are_surely_known(text: str, kind: str) -> None:
    """They reach 0.8."""
    found = why(text)

    assert found.kind == kind
    assert found.confidence >= 0.8


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (
            "src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.",
            "Make the types fit at src/a.ts:3:7: string is given where number is expected.",
        ),
        (
            "src/a.ts(3,7): error TS2304: Cannot find name 'foo'.",
            "Check the spelling of foo, and import or define it at src/a.ts:3:7.",
        ),
        (
            "error TS2305: Module './b' has no exported member 'Bar'.",
            "Bar is not exported there: check its spelling, or export it from the module.",
        ),
        ("./main.go:5:2: undefined: fmtx", "Check the spelling of fmtx, and import or define it at ./main.go:5:2."),
        ("Type error: it does not fit", "Correct the type or the name."),
        (
            "ERROR: Could not find a version that satisfies the requirement rich==99 (from versions: 13.6.0, 13.7.0)\n"
            "ERROR: No matching distribution found for rich==99",
            "Correct the name or version of rich==99 in pyproject.toml or requirements.txt, or add the registry"
            " that has it. Available: 13.6.0, 13.7.0.",
        ),
        (
            "ERROR: Could not find a version that satisfies the requirement richx (from versions: none)\n"
            "ERROR: No matching distribution found for richx",
            "Correct the name or version of richx in pyproject.toml or requirements.txt, or add",
        ),
        ("deploy.sh: line 3: AWS_SECRET_ACCESS_KEY: unbound variable", "Set AWS_SECRET_ACCESS_KEY for this task"),
    ],
)
def test_advice_names_what_the_output_names(text: str, advice: str) -> None:
    """The missing name, the export, the two types, the place, the package, its versions and the pinning file."""
    assert why(text).suggested_fix.startswith(advice)
    assert "place named" not in why(text).suggested_fix


def test_a_finding_with_rivals_is_less_sure() -> None:
    """So is one far from the end, and one before a step that passed."""
    alone = why("cat: a.csv: No such file or directory")
    with_rival = why("connect ECONNREFUSED 10.0.0.7:5432\ncat: a.csv: No such file or directory")
    far = why("cat: a.csv: No such file or directory\n" + "\n".join(f"copied {each}" for each in "abcdefgh"))
    passed = why("+ cat a.csv\ncat: a.csv: No such file or directory\n+ ls b\nb is listed")
    warned = why("warning: cat: a.csv: No such file or directory")

    assert alone.confidence > 0.9
    for doubted in (with_rival, far, passed, warned):
        assert doubted.kind == alone.kind
        assert doubted.confidence < alone.confidence
    assert with_rival.confidence < 0.8


def test_a_failure_at_the_end_is_read_beside_a_good_exit_status() -> None:
    """Some tools end with 0 all the same; it is said with doubt, and not where anything passed."""
    failed = why("litellm.AuthenticationError: Incorrect API key provided: sk-x", exit_code=0)

    assert failed.kind == "unknown/auth"
    assert failed.confidence < 0.8
    assert why("Incorrect API key provided\n12 passed in 3s", exit_code=0).kind == "unknown/no_failure"
    assert why("Incorrect API key provided\nuploaded, done", exit_code=0).kind == "unknown/no_failure"


def test_the_directory_it_ran_in_is_no_part_of_a_failure() -> None:
    """The same failure in another directory has the same fingerprint; another file has another."""
    one, other = why("error: no project in /home/ann/shop"), why("error: no project in /srv/work/billing")

    assert one.fingerprint == other.fingerprint
    assert why("cannot open /srv/a.csv").fingerprint != why("cannot open /srv/b.csv").fingerprint

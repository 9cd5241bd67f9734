"""Equal for the same failure, different for different ones."""

from __future__ import annotations

import re

import pytest

from medbay.core.diagnosis.fingerprint import failing_tests, fingerprint, mask, template
from tests.core.diagnosis.samples import why


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("pid 4242 died at 2026-08-15T10:00:00Z after 3.2s", "pid 17 died at 2026-11-01T23:59:59Z after 11.7s"),
        ("Error: open /tmp/abc123/x.txt: bad thing", "Error: open /var/folders/zz/9/x.txt: bad thing"),
        ('Module not found "file:///home/dev/app/lib/x.ts"', 'Module not found "file:///srv/ci/7/lib/x.ts"'),
        ("Error: object at 0x7efe33f35010 is odd", "Error: object at 0x1234abcd is odd"),
        ("2026-11-16 09:14:28.422 UTC [14] FATAL: odd", "2026-11-16 18:14:28.445 JST [15] FATAL: odd"),
        ("UTC [14821] FATAL cannot load it", "JST [14822] FATAL cannot load it"),
        (
            "Error: job 3f2b8c1e-0000-4000-8000-1234567890ab lost",
            "Error: job 11111111-2222-4333-8444-555555555555 lost",
        ),
        ("connect to 127.0.0.1:28081: connection refused", "connect to 127.0.0.1:9: connection refused"),
        (
            "FAILED tests/a.py::test_x - assert 1 == 2\n1 failed, 3 passed in 2.1s",
            "FAILED tests/a.py::test_x - assert 1 == 2\n1 failed, 9 passed in 0.3s",
        ),
    ],
)
def test_the_same_failure_has_the_same_fingerprint(first: str, second: str) -> None:
    """Whatever the times, pids, ports, directories, addresses, ids and counts."""
    assert why(first).fingerprint == why(second).fingerprint


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("FAILED tests/a.py::test_x - assert 1\n1 failed", "FAILED tests/a.py::test_y - assert 1\n1 failed"),
        ("a.c:3:5: error: bad thing", "b.c:3:5: error: bad thing"),
        ("src/a.ts(1,2): error TS2304: odd", "src/a.ts(1,2): error TS2322: odd"),
        ("HTTP 502 Bad Gateway", "HTTP 503 Service Unavailable"),
        ("could not resolve host: a.example.org", "could not resolve host: b.example.org"),
        ("connect to 10.0.0.1:80: connection refused", "connect to 10.0.0.2:80: connection refused"),
    ],
)
def test_another_failure_has_another_fingerprint(first: str, second: str) -> None:
    """Another test, file, error code or host."""
    assert why(first).fingerprint != why(second).fingerprint


def test_a_fingerprint_is_short_and_readable() -> None:
    """The category and eight digits."""
    assert re.fullmatch(r"test_failure:[0-9a-f]{8}", why("--- FAIL: TestAdd (0.00s)").fingerprint)
    assert re.fullmatch(r"unknown:[0-9a-f]{8}", fingerprint("unknown", ("\ud800",)))


def test_unknown_failures_group_by_template() -> None:
    """The first words and their number tell them apart; variables do not."""
    assert (
        why("worker 3 gave back shard 77 of alpha").fingerprint
        == why("worker 9 gave back shard 1 of alpha").fingerprint
    )
    assert why("worker 3 gave back shard 77").fingerprint != why("the moon is full tonight").fingerprint
    assert template("id=42 took 3 s") == "4 <*> took <*> s"


def test_masking_keeps_what_names_something() -> None:
    """Codes and addresses stay, counts and directories go."""
    assert mask("/a/b/c.py: status 503, 12 rows") == "c.py: status yqr, <n> rows"
    assert mask("E0432 at 10.0.0.1:80") == "E0432 at wqxqxqxw"


def test_failing_tests_are_named_in_many_runners_words() -> None:
    """Sorted, each once."""
    text = (
        "--- FAIL: TestB (0.1s)\nFAILED a.py::test_a - x\nnot ok 3 - third\n[  FAILED  ] Calc.Adds\n"
        "test it::works ... FAILED\n  ✕ paints (3 ms)\nFAIL: test_z (t.T)\n#   Failed test 'seventh'\n"
    )
    assert failing_tests(text.split("\n"), text) == (
        "Calc.Adds", "TestB", "a.py::test_a", "it::works", "paints", "seventh", "test_z", "third",
    )  # fmt: skip

"""What travels to a place elsewhere and back: nothing is lost, everything is bounded, strangers are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medbay.core.model import Check, CheckResult
from medbay.core.outcome import (
    Cancelled,
    Failed,
    Lost,
    Outcome,
    Output,
    OverBudget,
    Requeued,
    Stalled,
    Succeeded,
    TimedOut,
)
from medbay.core.workspace import WorkRequest
from medbay.errors import SpawnFailed
from medbay.places.orders import AttemptReport, read_order, read_report, within_bounds, write_order, write_report
from medbay.places.protocol import Launch
from tests.properties import examples

TEXTS = st.text(max_size=200)
OUTPUTS = st.builds(Output, head=TEXTS, tail=TEXTS, total_bytes=st.integers(0, 10**9))
OUTCOMES = st.one_of(
    st.builds(Succeeded, output=OUTPUTS),
    st.builds(Failed, output=OUTPUTS, exit_code=st.integers(0, 255), signal=st.none() | st.integers(1, 64)),
    st.builds(TimedOut, output=OUTPUTS, limit_s=st.floats(0, 1e6)),
    st.builds(Stalled, output=OUTPUTS, silent_s=st.floats(0, 1e6)),
    st.builds(Lost, why=TEXTS, output=OUTPUTS),
    st.builds(Cancelled, output=OUTPUTS),
    st.builds(OverBudget, why=TEXTS, output=OUTPUTS),
    st.builds(Requeued, asked=st.booleans(), why=TEXTS, retry_after=st.none() | st.integers(0, 10**6)),
)


def launch(tmp_path: Path, **fields: object) -> Launch:
    """An attempt to be sent."""
    usual = {"store_id": "s", "task_id": "k7f2", "number": 2, "runner": "shell", "command": ["echo", "é\n"]}
    paths = {"cwd": tmp_path, "log_path": "/engine/k7f2/2.log", "result_path": "/engine/k7f2/2.result.json"}
    return Launch(**{**usual, **paths, "idempotency_key": "s:k7f2:1", **fields})  # type: ignore[arg-type]


def test_an_order_arrives_as_it_was_written(tmp_path: Path) -> None:
    """All but the files, which are those of the machine that runs it."""
    work = WorkRequest(name="k7f2", title="Write", checks=(Check("make test"),))
    sent = launch(
        tmp_path,
        place="cluster",
        env={"A": "1"},
        env_from=("TOKEN",),
        timeout_s=5.0,
        checks=(Check("true", True),),
        work=work,
    )

    got = read_order(write_order(sent), folder=tmp_path / "here")

    assert got.log_path == f"{tmp_path}/here/s/k7f2/2.log"
    assert (got.command, got.cwd, got.env, got.env_from) == (["echo", "é\n"], tmp_path, {"A": "1"}, ("TOKEN",))
    assert (got.timeout_s, got.checks, got.work, got.place) == (5.0, (Check("true", True),), work, "")
    assert got.attempt_key == sent.attempt_key


def test_secrets_stay_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables by name and files of variables are named in an order; their values are not in it."""
    monkeypatch.setenv("TOKEN", "hunter2hunter2")
    (tmp_path / "variables").write_text("KEY=hunter3hunter3\n", encoding="utf-8")

    order = write_order(launch(tmp_path, env_from=("TOKEN",), env_file="variables"))

    assert b"TOKEN" in order and b"hunter" not in order


@pytest.mark.parametrize(
    "change, said",
    [
        ({"version": 99}, "speaks version 99"),
        ({"more": 1}, "does not understand"),
        ({"launch": {"teleport": True}}, "does not know teleport"),
    ],
)
def test_an_order_of_another_version_is_refused_in_words(tmp_path: Path, change: dict[str, object], said: str) -> None:
    """A worker says what it does not understand, and what to do."""
    order = json.loads(write_order(launch(tmp_path)))
    fields = {**order["launch"], **change.pop("launch", {})}  # type: ignore[dict-item]
    bad = json.dumps({**order, "launch": fields, **change}).encode()

    with pytest.raises(SpawnFailed, match=said) as refused:
        read_order(bad, folder=tmp_path)
    assert "same version of Medbay" in str(refused.value)


def test_what_is_too_large_is_not_sent(tmp_path: Path) -> None:
    """The server would refuse it later, with other words."""
    with pytest.raises(SpawnFailed, match="at most"):
        write_order(launch(tmp_path, prompt="x" * 2_000_000))


@examples(100)
@given(outcome=OUTCOMES, host=st.text(min_size=1, max_size=20))
def test_a_report_arrives_as_it_was_written(outcome: Outcome, host: str) -> None:
    """Every kind of end, with its words."""
    got = read_report(write_report(AttemptReport(outcome=outcome, host=host)))

    assert got.outcome == outcome and got.host == host


@pytest.mark.parametrize("letter", ["x", "é", "狐", "🦊", "\ufffd"])
def test_the_ends_of_a_log_are_bounded_in_bytes(letter: str, tmp_path: Path) -> None:
    """4 KB of its beginning and 32 KB of its end, whatever a character takes; none is cut in half."""
    sent = within_bounds(
        Output(head="a" + letter * 9_000, tail=letter * 90_000 + "z"), host="far", result_path=str(tmp_path / "r")
    )

    assert 4_096 - 4 < len(sent.head.encode()) <= 4_096 and set(sent.head) == {"a", letter}
    assert 32_768 - 4 < len(sent.tail.encode()) <= 32_768 and set(sent.tail) == {letter, "z"}


def test_a_result_is_sent_up_to_64_kb_and_a_larger_one_is_kept_and_named(tmp_path: Path) -> None:
    """The whole of it is in the file that is named, for its owner alone; what was used comes back."""
    path = tmp_path / "2.result.json"
    fits = {"value": "v" * (65_536 - len('{"value":""}'))}
    large = {"value": "v" * 70_000, "usage": {"tokens": 3}, "summary": "done"}

    sent = within_bounds(Output(result=fits), host="far", result_path=str(path))
    named = within_bounds(Output(result=large), host="far", result_path=str(path)).result

    assert sent.result == fits and named is not None
    assert named == {"usage": {"tokens": 3}, "summary": "done", "left_at": f"far:{path}", "bytes": named["bytes"]}
    assert json.loads(path.read_text("utf-8")) == large and path.stat().st_mode & 0o777 == 0o600


def test_what_would_be_kept_of_a_large_result_is_bounded_too(tmp_path: Path) -> None:
    """Usage of 100 KB is no usage; and where it cannot be kept that is said."""
    sent = within_bounds(Output(result={"usage": "u" * 100_000}), host="far", result_path=str(tmp_path))

    assert sent.result is not None and set(sent.result) == {"left_at", "bytes"}
    assert sent.result["left_at"].startswith("nowhere: far could not keep it")


def test_results_hold_what_json_holds() -> None:
    """Numbers of any size, half of a character, values that are no JSON at all."""
    result = {"value": 2**200, "half": "\ud83e", "path": Path("/x"), "nothing": None}
    outcome = Succeeded(output=Output(result=result))

    got = read_report(write_report(AttemptReport(outcome=outcome, host="far")))

    assert got.outcome.output.result == {**result, "path": "/x"}


@pytest.mark.parametrize("count", [1, 32, 1_000])
def test_the_output_of_all_checks_together_is_bounded(count: int) -> None:
    """However many there are."""
    checks = tuple(
        CheckResult("k7f2", 1, each, "c", status="FAIL", head="狐" * 9_000, tail="狐" * 9_000) for each in range(count)
    )

    sent = write_report(AttemptReport(outcome=Succeeded(), host="far", checks=checks))

    assert len(sent) < 262_144 + 300 * count + 1_000


def test_checks_come_back_one_by_one() -> None:
    """Each has its outcome; one that never ran there is an error of that check."""
    passed = CheckResult("k7f2", 1, 1, "true", status="PASS", exit_code=0)
    failed = CheckResult("k7f2", 1, 2, "false", status="FAIL", exit_code=1, tail="no")

    got = read_report(write_report(AttemptReport(outcome=Succeeded(), host="far", checks=(passed, failed))))

    assert isinstance(got.of_part("check-1"), Succeeded)
    second, third = got.of_part("check-2"), got.of_part("check-3")
    assert isinstance(second, Failed) and second.exit_code == 1 and second.output.tail == "no"
    assert isinstance(third, Failed) and "was not run on far" in third.spawn_error


@pytest.mark.parametrize("text", [b"", b"{}", b'{"version":1,"kind":"Nothing","outcome":{},"host":""}', b"\xff"])
def test_a_report_nobody_can_read_is_an_attempt_that_was_lost(text: bytes) -> None:
    """It says nothing of the work."""
    assert isinstance(read_report(text).outcome, Lost)

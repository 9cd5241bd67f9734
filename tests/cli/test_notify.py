"""`medbay notify`, and messages through a real daemon to real servers of this machine."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import medbay
from medbay.cli.session import ATTEMPT_KEY
from tests.cli.calling import call
from tests.receivers import Hook, running_hook

ASKS = ["sh", "-c", "echo 'fatal: Authentication failed'; exit 1"]


@pytest.fixture
def hook() -> Iterator[Hook]:
    """A web server."""
    with running_hook() as found:
        yield found


@pytest.fixture
def home(tmp_path: Path, hook: Hook, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a channel."""
    monkeypatch.setenv("MEDBAY_TRUST", "1")
    monkeypatch.chdir(tmp_path)
    write(tmp_path, f'[notify.wall]\nurl = "{hook.url}/S3CRET"\n')
    (tmp_path / ".medbay").mkdir()
    medbay.open(cwd=tmp_path).close()
    return tmp_path


def write(home: Path, text: str) -> None:
    """The settings of the project."""
    (home / "medbay.toml").write_text(text, encoding="utf-8")


def test_a_test_message_arrives_and_says_through_what(home: Path, hook: Hook) -> None:
    """The exit status says whether it did."""
    done = call(("notify", "test"))

    assert done.code == 0 and "delivered" in done.out
    (body,) = hook.bodies
    assert re.fullmatch(r"Medbay test from \S+, \d\d:\d\d \S+\. If you read this, wall works\.", body["title"])
    hook.answers = [(403, {})]
    refused = call(("notify", "test", "wall", "--json"))
    assert refused.code == 1
    assert refused.json == [{"name": "wall", "delivered": False, "error": "HTTP 403 Forbidden: no"}]


def test_what_cannot_be_tested_is_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is not there, no channel at all, an attempt that wants to."""
    assert call(("notify", "test", "nope")).code == 3
    write(home, "")
    assert call(("notify", "test")).code == 3
    assert call(("notify", "list", "--json")).json == []
    monkeypatch.setenv(ATTEMPT_KEY, "x")
    assert call(("notify", "test")).code == 4


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('url = "nonsense"', "must be an address"),
        ('url = "smtp://mail.example.org/"', "?to="),
        ('url = "https://a.example"\nurl_env = "X"', "has more than one of command, url, url_env"),
        ('on = ["question:asked"]', "has no command or url or url_env"),
        ('url = "https://a.example"\nquiet = "22-7"', "must be hours like"),
        ('url = "https://a.example"\nzone = "Mars/North"', "must be a time zone"),
        ('url_env = "NOT A NAME"', "must be the name of a variable"),
    ],
)
def test_a_channel_that_cannot_work_is_refused_with_its_line(home: Path, line: str, said: str) -> None:
    """And nothing of an address but its host is shown."""
    write(home, f"[notify.wall]\n{line}\n")

    done = call(("notify", "list"))

    assert done.code == 2 and said in done.err and "medbay.toml:" in done.err


def test_a_question_is_one_message_and_the_address_stays_secret(home: Path, hook: Hook) -> None:
    """Through the real daemon; `notify list`, `doctor` and the store say when it was delivered, never where to."""
    with medbay.open(cwd=home) as bay:
        task = bay.add("deploy docs", run=ASKS)
        bay.run_until_idle()

    (body,) = hook.bodies
    assert body["title"].startswith("! Medbay: deploy docs needs you: ")
    assert body["command"] == f"medbay answer {task.id} 1" and body["task"] == task.id
    (listed,) = call(("notify", "list", "--json")).json
    assert listed["delivered_at"] and listed["failing_since"] is None and listed["waiting"] == 0
    assert listed["to"] == re.sub("/S3CRET", "", f"{hook.url}/***")
    shown = call(("notify", "list")).out + call(("doctor",)).out + call(("policy", "show")).out
    assert "wall" in shown and "S3CRET" not in shown
    assert b"S3CRET" not in (home / ".medbay" / "medbay.db").read_bytes()


def test_a_channel_for_some_tasks_hears_of_no_other(home: Path, hook: Hook) -> None:
    """By tag here."""
    write(home, f'[notify.wall]\nurl = "{hook.url}"\ntag = ["night"]\n')
    with medbay.open(cwd=home) as bay:
        bay.add("by day", run=ASKS)
        bay.add("by night", run=["sh", "-c", "echo 'bash: frobnicate: command not found'; exit 127"], tag=["night"])
        bay.run_until_idle()

    assert [each["title"].partition(" needs")[0] for each in hook.bodies] == ["! Medbay: by night"]


def test_a_channel_that_is_down_is_one_line_under_the_list(home: Path, hook: Hook) -> None:
    """With the command that tries it."""
    hook.answers = [(500, {})]
    with medbay.open(cwd=home) as bay:
        bay.add("deploy docs", run=ASKS)
        bay.run_until_idle()

    screen = {"COLUMNS": "200", "TERM": "xterm", "LC_ALL": "C.UTF-8"}
    seen = call(("list",), env={**os.environ, **screen}, terminal=True)

    assert seen.out.count("channel wall does not deliver (1 to deliver): medbay notify test wall") == 1

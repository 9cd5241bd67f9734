"""Real hooks beside real daemons: what they get, what ends them, and that a killed daemon's delivery comes again."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import medbay
from medbay.bay import Bay
from medbay.config.load import check_text
from medbay.places.processes import marks
from tests.guardians import kill_with_guardian
from tests.postgres_server import Server
from tests.waiting import wait_for

ASKS = ["sh", "-c", "echo 'fatal: Authentication failed'; exit 1"]
DAEMON = "import medbay; raise SystemExit(medbay.open().daemon().run())"
TELL = "cat >> told.jsonl; echo >> told.jsonl; echo $MEDBAY_DELIVERY_KEY >> keys\n"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with a channel, on every kind of database; the hook is to be written."""
    monkeypatch.setenv("MEDBAY_TRUST", "1")
    store, database = "", ""
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres")
        database = server.new_database()
        store = f'[store]\nurl = "{server.url(database)}"\n'
    (tmp_path / ".medbay").mkdir()
    channel = '[engine]\ngrace = "2s"\n[notify.desk]\ncommand = ["./hook.sh", "loud"]\ntimeout = "2s"\n'
    (tmp_path / "medbay.toml").write_text(store + channel, encoding="utf-8")
    yield tmp_path
    if database:
        server.drop(database)


def write_hook(home: Path, text: str) -> None:
    """The hook of the channel."""
    hook = home / "hook.sh"
    hook.write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
    hook.chmod(0o755)


def lines(path: Path) -> list[str]:
    """What was written so far, without blank lines."""
    return [each for each in path.read_text(encoding="utf-8").splitlines() if each] if path.exists() else []


def told(home: Path) -> list[dict[str, Any]]:
    """What the hook was told."""
    return [json.loads(line) for line in lines(home / "told.jsonl")]


def start_daemon(home: Path) -> subprocess.Popen[bytes]:
    """An engine in a process of its own, which runs until it is stopped."""
    return subprocess.Popen([sys.executable, "-c", DAEMON], cwd=home, start_new_session=True)


def run(bay: Bay) -> float:
    """Run until idle; how long that took."""
    begun = time.monotonic()
    bay.run_until_idle()
    return time.monotonic() - begun


def test_a_hook_gets_the_event_and_a_clean_environment(home: Path) -> None:
    """In the directory of medbay.toml, with its own arguments, and without anything that leads to the store."""
    write_hook(home, TELL + 'env > env.txt; echo "$@ $PWD" > how\n')
    with medbay.open(cwd=home) as bay:
        task = bay.add("needs a person", run=ASKS)

        run(bay)

        (state, waiting) = bay.channels()[0]
    (event,) = told(home)
    assert (event["name"], event["task"], event["channel"], event["try"]) == ("question:asked", task.id, "desk", 1)
    assert event["data"]["question"]
    assert lines(home / "keys") == [event["key"]]
    environment = (home / "env.txt").read_text(encoding="utf-8")
    assert "MEDBAY_STORE" not in environment and "postgresql://" not in environment
    assert (home / "how").read_text(encoding="utf-8").split() == ["loud", str(home)]
    assert state.delivered_at is not None and waiting == 0
    assert not list((home / ".medbay" / "deliveries" / "desk").iterdir())


def test_a_run_that_is_over_delivers_what_is_due_and_then_ends(home: Path) -> None:
    """With nothing to deliver it does not wait; what waits to be tried again is left."""
    write_hook(home, "exit 3\n")
    with medbay.open(cwd=home) as bay:
        bay.add("fine", run=["true"])
        assert run(bay) < 20

        bay.add("needs a person", run=ASKS)
        assert run(bay) < 20

        (state, waiting) = bay.channels()[0]
        names = [each.name for each in bay.events() if each.name.startswith("delivery:")]
    assert (state.error, waiting) == ("exit status 3", 1)
    assert names == ["delivery:failed"]


def test_a_hook_that_hangs_is_ended_with_all_it_started(home: Path) -> None:
    """At its time limit; nothing of it goes on."""
    write_hook(home, "sleep 300 & echo waiting; sleep 300\n")
    with medbay.open(cwd=home) as bay:
        bay.add("needs a person", run=ASKS)

        run(bay)

        (state, waiting) = bay.channels()[0]
        assert not marks(f"{bay.store.store_id}:")
    assert state.error.startswith("took longer than 2s")
    assert waiting == 1


def test_a_hook_that_is_killed_is_started_again(home: Path) -> None:
    """With the same key, and then it arrives."""
    write_hook(home, "echo $MEDBAY_DELIVERY_KEY >> begun\n[ -e again ] || { touch again; kill -9 $$; }\n" + TELL)
    with medbay.open(cwd=home) as bay:
        bay.add("needs a person", run=ASKS)
        daemon = start_daemon(home)
        try:
            wait_for(lambda: told(home))
        finally:
            daemon.terminate()
            daemon.wait()
    assert len(lines(home / "begun")) == 2
    assert set(lines(home / "begun")) == {told(home)[0]["key"]}
    assert told(home)[0]["try"] == 2


def test_a_daemon_killed_between_run_and_record_delivers_again_with_the_same_key(home: Path) -> None:
    """The next daemon does, when the lease of the delivery is over: at least once, known by its key."""
    write_hook(home, TELL + "[ -e again ] || { touch again; touch ran; sleep 300; }\n")
    with medbay.open(cwd=home) as bay:
        bay.add("needs a person", run=ASKS)
        daemon = start_daemon(home)
        wait_for(lambda: (home / "ran").exists())
        kill_with_guardian(daemon)
        assert len(told(home)) == 1

        daemon = start_daemon(home)
        try:
            wait_for(lambda: bay.channels()[0][0].delivered_at)
            assert not marks(f"{bay.store.store_id}:")  # nor does the one that was left go on beside it
        finally:
            daemon.terminate()
            daemon.wait()
    assert len(set(lines(home / "keys"))) == 1
    assert [each["try"] for each in told(home)] == [1, 2]


def test_two_daemons_deliver_each_event_once(home: Path) -> None:
    """Both read the same log."""
    write_hook(home, TELL)
    with medbay.open(cwd=home) as bay:
        daemons = [start_daemon(home), start_daemon(home)]
        try:
            wait_for(lambda: len(bay.workers()) == 2)
            for number in range(6):
                bay.add(f"needs a person {number}", run=[*ASKS[:2], f"echo 'no such key {number}'; {ASKS[2]}"])
            wait_for(lambda: not bay.open_counts().get("pending") and not bay.open_counts().get("in_progress"))
            wait_for(lambda: told(home) and bay.channels()[0][1] == 0)
        finally:
            for each in daemons:
                each.terminate()
            for each in daemons:
                each.wait()
        asked = [each for each in bay.events() if each.name == "question:asked"]
    assert sorted(each["seq"] for each in told(home)) == sorted(each.seq for each in asked)


def test_a_command_that_is_not_there_is_a_failure_of_the_channel(home: Path) -> None:
    """Named by `medbay doctor` and `medbay policy check` before it is needed."""
    with medbay.open(cwd=home) as bay:
        bay.add("needs a person", run=ASKS)

        run(bay)

        assert "command not found: ./hook.sh" in bay.channels()[0][0].error
    text = (home / "medbay.toml").read_text(encoding="utf-8")
    (mistake,) = check_text(text, "medbay.toml", folder=home)
    assert 'notify.desk.command: there is no program "./hook.sh"' in str(mistake)

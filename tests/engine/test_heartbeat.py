"""The dead man's switch: a heartbeat at every period while the loop goes round, silence when it does not."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

import medbay
from medbay.core.delivery import Channel
from medbay.engine.heartbeat import Heartbeats, Pulse
from tests.engine.test_deliver import ScriptedSender
from tests.worlds import ManualClock

DESK = Channel(name="desk", kind="command", target=("./hook.sh",), heartbeat_ms=60_000)
QUIET = Channel(name="quiet", kind="command", target=("./hook.sh",))


class Beside:
    """Heartbeats beside a loop that a test moves."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.pulse = Pulse()
        self.sender = ScriptedSender()
        self.heartbeats = Heartbeats((DESK, QUIET), {"command": self.sender}, self.pulse, store_id="teststore")

    def rounds(self, seconds: int, *, loop_goes: bool = True) -> int:
        """So many seconds, a look in each; how many heartbeats were begun."""
        before = len(self.sender.begun)
        for _ in range(seconds):
            if loop_goes:
                self.pulse.looked_s = self.clock.monotonic_s()
            self.heartbeats.look(self.clock.monotonic_s(), self.clock.now_ms())
            self.clock.advance(1_000)
        return len(self.sender.begun) - before


@pytest.fixture
def beside(clock: ManualClock) -> Beside:
    """A loop that has not gone round yet."""
    return Beside(clock)


def test_one_at_every_period_on_channels_that_want_it(beside: Beside) -> None:
    """The first as soon as the loop went round once."""
    assert beside.rounds(5, loop_goes=False) == 0
    assert beside.rounds(1) == 1
    assert beside.rounds(59) == 0
    assert beside.rounds(300) == 5
    assert {each.delivery.channel for each in beside.sender.begun} == {"desk"}
    assert {each.delivery.event.name for each in beside.sender.begun} == {"heartbeat"}
    assert len({each.delivery.key for each in beside.sender.begun}) == 6


def test_a_stopped_loop_stays_silent_and_is_heard_again_at_once(beside: Beside) -> None:
    """However alive the thread beside it is."""
    beside.rounds(1)

    assert beside.rounds(600, loop_goes=False) <= 1
    assert beside.rounds(1) == 1


def test_one_that_fails_is_logged_once_and_comes_again_at_its_time(
    beside: Beside, caplog: pytest.LogCaptureFixture
) -> None:
    """It is not tried again in between."""
    beside.sender.scripts[""] = ["exit status 1", "refused", "exit status 1", ""]

    with caplog.at_level(logging.WARNING):
        assert beside.rounds(240) == 4

    assert [record.getMessage() for record in caplog.records] == [
        "the heartbeat of channel desk did not arrive: exit status 1"
    ]


def test_one_that_hangs_keeps_the_next_from_starting(beside: Beside) -> None:
    """And is ended with the engine."""
    beside.sender.scripts[""] = [None]
    beside.sender.begun.clear()
    assert beside.rounds(20) == 1

    beside.heartbeats.stop()

    assert beside.sender.begun[0].killed


def test_a_daemon_sends_heartbeats_and_a_single_run_does_not(tmp_path: Path) -> None:
    """As JSON on the standard input of the channel; nothing of it is stored."""
    (tmp_path / ".medbay").mkdir()
    channel = (
        '[notify.desk]\ncommand = ["sh", "-c", "cat >> told; echo $MEDBAY_EVENT >> names"]\non = []\nheartbeat = "1s"\n'
    )
    (tmp_path / "medbay.toml").write_text(channel, encoding="utf-8")
    with medbay.open(cwd=tmp_path, trust_file=True) as bay:
        daemon = bay.daemon()
        heard = tmp_path / "names"
        daemon.run(until=lambda: heard.exists() and heard.read_text(encoding="utf-8").count("heartbeat\n") >= 2)

        told = json.loads((tmp_path / "told").read_text(encoding="utf-8").splitlines()[0])
        assert (told["event"], told["name"], told["channel"]) == ("heartbeat", "heartbeat", "desk")
        assert not [each for each in bay.events() if each.name == "heartbeat"]
        assert bay.channels()[0][1] == 0

        heard.unlink()
        bay.add("one", run=["sleep", "1.5"], queue="run-x")
        bay.daemon(queues=("run-x",)).run(until_idle=True)
        assert not heard.exists()

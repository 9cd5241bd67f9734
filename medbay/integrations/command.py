"""A channel that is a command: it gets the event as JSON on its standard input, and arrived when it exits with 0."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from medbay.core.delivery import HEARTBEAT, Channel, Delivery
from medbay.core.durations import format_duration
from medbay.core.outcome import Failed, Outcome, Succeeded, TimedOut, redacted
from medbay.core.redaction import Redaction
from medbay.integrations.protocol import SenderMeans
from medbay.places.processes import end_marked
from medbay.places.protocol import Launch, Running
from medbay.views.event import as_json

_LINES_SHOWN: Final = 3


def sender(means: SenderMeans) -> CommandSender:
    """What delivers to commands."""
    return CommandSender(means)


@dataclass(frozen=True, slots=True)
class CommandSender:
    """Runs the commands of channels: without a shell, in the directory of medbay.toml, each as a tree of its own."""

    means: SenderMeans

    def start(self, channel: Channel, delivery: Delivery, monotonic_s: float) -> CommandSending:
        """Start the command of a channel."""
        told = {**as_json(delivery.event), "channel": channel.name, "key": delivery.key, "try": delivery.tries}
        if delivery.event.name == HEARTBEAT:
            told = {"event": HEARTBEAT, **told}
        path = self.means.files / channel.name / str(delivery.seq)
        launch = Launch(
            store_id=delivery.key.partition(":")[0],
            task_id="",
            number=0,
            runner="shell",
            command=channel.target,
            cwd=self.means.folder,
            log_path=str(path.with_suffix(".log")),
            result_path=str(path.with_suffix(".result")),
            idempotency_key=delivery.key,
            env={"MEDBAY_DELIVERY_KEY": delivery.key, "MEDBAY_EVENT": delivery.event.name},
            timeout_s=channel.timeout_ms / 1000,
            stdin_text=json.dumps(told, ensure_ascii=False) + "\n",
            stdin_path=path.with_suffix(".json"),
            part=f"delivery {delivery.key}",  # its processes carry this mark, and belong to no attempt
        )
        if delivery.tries > 1:  # an engine that died may have left the last try behind
            end_marked(launch.attempt_key)
        return CommandSending(self.means.runner.start(launch, monotonic_s), launch, self.means.redaction)


@dataclass(frozen=True, slots=True)
class CommandSending:
    """One command under way."""

    running: Running
    launch: Launch
    redaction: Redaction

    def poll(self, monotonic_s: float) -> str | None:
        """How it ended, if it and all it started did."""
        outcome = self.running.poll(monotonic_s)
        if outcome is None:
            return None
        for path in (self.launch.log_path, self.launch.stdin_path, self.launch.result_path):
            if path is not None:
                with suppress(OSError):
                    os.unlink(path)
        return _error(redacted(outcome, self.redaction))

    def kill(self) -> None:
        """End its tree."""
        self.running.kill()


def _error(outcome: Outcome) -> str:
    """Why it did not arrive; empty when it did."""
    if isinstance(outcome, Succeeded):
        return ""
    lines = outcome.output.tail.strip().splitlines()[-_LINES_SHOWN:]
    printed = f": {' / '.join(lines)}" if lines else ""
    match outcome:
        case TimedOut(limit_s=limit_s):
            return f"took longer than {format_duration(round(limit_s * 1000))}{printed}"
        case Failed(signal=int(number)):
            return f"ended by signal {number}{printed}"
        case _:
            return f"exit status {getattr(outcome, 'exit_code', None)}{printed}"

"""One live agent: its process, and its own record as it grows. At its budget's limit it gets one turn to hand back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from msgspec.structs import replace

from medbay.core.agent import Profile
from medbay.core.budget import MILLION
from medbay.core.outcome import Outcome, Succeeded
from medbay.env import Clock, SystemClock
from medbay.errors import SpawnFailed
from medbay.places.protocol import Identity, Launch, Runner, Running
from medbay.places.spawn import write_private
from medbay.runners.agent import ending, record
from medbay.runners.agent.preset import Preset, Run, command_of
from medbay.runners.agent.transcript import Spent, Transcript

LOOK_S: Final = 0.25  # how often the record of a live agent is read
HANDS_BACK_S: Final = 120.0  # what the turn to hand back may take
HAND_BACK: Final = "handback"
STOP: Final = (
    "Stop here: the budget of this attempt is used up. Use no tools. Write down in a few lines what is done, what is"
    " not done, and what has to be done next; whoever goes on with this task reads it."
)


class Workplace(Protocol):
    """Where one attempt of an agent works: a directory that was prepared for it, and what becomes of its work."""

    @property
    def cwd(self) -> Path:
        """The directory it works in."""
        ...

    @property
    def files(self) -> Path | None:
        """The directory whose files show its progress, where that is another one."""
        ...

    @property
    def env(self) -> Mapping[str, str]:
        """Variables that it gets besides its own."""
        ...

    def command(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """What is started for this command: itself, or what prepares the directory and starts it there."""
        ...

    def left(self, outcome: Outcome) -> Outcome:
        """It has ended: keep what it made, and say how it ended with that in mind."""
        ...


@dataclass(frozen=True, slots=True)
class Agent:
    """Who works: a profile with its preset, and what starts its command."""

    profile: Profile
    preset: Preset
    commands: Runner
    workplace: Workplace

    def start(self, launch: Launch, run: Run, monotonic_s: float) -> Running:
        """Write the prompt and start it."""
        path = prompt_path(Path(launch.log_path))
        text = launch.prompt
        reads = self.preset.prompt == "stdin" and not self.profile.command
        _prepare(path, None if reads else text)
        chosen = {"MEDBAY_MODEL": run.model, "MEDBAY_FRESH_SESSION": str(int(launch.fresh_session))}
        asked = replace(
            launch,
            command=self.workplace.command(tuple(command_of(self.preset, self.profile, run))),
            env={**self.preset.env, **launch.env, **chosen},
            stdin_text=text if reads else "",
            stdin_path=path if reads else None,
            keep_log=True,  # its record is read while it grows
        )
        return self.commands.start(asked, monotonic_s)


class AgentRunning:
    """One live agent."""

    def __init__(
        self,
        agent: Agent,
        launch: Launch,
        run: Run,
        transcript: Transcript,
        workplace: Workplace,
        monotonic_s: float,
    ) -> None:
        self._agent = agent
        self._launch = launch
        self._run = run
        self._workplace = workplace
        self._outcome: Outcome | None = None
        self._over = ""  # in which way it used up its budget
        self._turns = ""  # in which way it used up its turns
        self._ending = False  # it was told to end for one of the two
        self._handing: Transcript | None = None  # the turn in which it hands back
        self._stopped = False  # by the worker or a person: then there is no such turn
        self._look_s = monotonic_s + LOOK_S
        self._clock: Clock = SystemClock()
        self.transcript = transcript
        if run.resumes:
            record.pass_over(agent.preset, transcript, launch.env)
        self._process = agent.start(launch, run, monotonic_s)

    @property
    def identity(self) -> Identity | None:
        """Its process."""
        return self._process.identity

    def fileno(self) -> int:
        """As its process says."""
        return self._process.fileno()

    def poll(self, monotonic_s: float) -> Outcome | None:
        """Read on in its record, hold it to its budget, and say how it ended once what it made is kept."""
        if self._outcome is not None:
            return self._outcome
        ended = self._process.poll(monotonic_s)
        if ended is None:
            if monotonic_s >= self._look_s:
                self._look_s = monotonic_s + LOOK_S
                self._look()
                self._enforce(monotonic_s)
            return None
        self._look(last=True)
        if isinstance(ended, Succeeded) and self.transcript.ended and self._handing is None:
            self._over = self._turns = ""  # work that is done stays done
        if self._hands_back(monotonic_s):
            return None
        self._take_back()
        self._save()
        over, turns = ("", "") if self._stopped else (self._over, self._turns)
        judged = ending.judged(self._agent.preset, self.transcript, ended, over=over, turns=turns)
        self._outcome = self._workplace.left(judged)
        return self._outcome

    def deadline_s(self) -> float | None:
        """The next time that matters to its process, or to look at its record."""
        if self._outcome is not None:
            return None
        inner = self._process.deadline_s()
        return self._look_s if inner is None else min(inner, self._look_s)

    def cancel(self, monotonic_s: float) -> None:
        """End it because a person asked."""
        self._stopped = True
        self._process.cancel(monotonic_s)

    def hand_back(self, monotonic_s: float, *, why: str) -> None:
        """End it because the worker stops."""
        self._stopped = True
        self._process.hand_back(monotonic_s, why=why)

    def kill(self) -> None:
        """End it at once."""
        self._stopped = True
        self._process.kill()

    def _look(self, *, last: bool = False) -> None:
        """Take what it wrote since."""
        if not self._agent.preset.has_record:
            return
        transcript = self._handing or self.transcript
        path = self._launch.log_path if self._handing is None else _hand_back_log(self._launch.log_path)
        before = transcript.offset, transcript.session_offset
        record.read_session(self._agent.preset, transcript, self._launch.env)  # first: it is written last
        record.read_log(self._agent.preset, transcript, path, last=last)
        if last:  # the name of its session may have come only now
            record.read_session(self._agent.preset, transcript, self._launch.env)
        if (transcript.offset, transcript.session_offset) != before and self._handing is None:
            self._stamp()
            self._save()

    def _stamp(self) -> None:
        """A call whose record has no time of its own was made about now."""
        now = self._clock.now_ms()
        calls = self.transcript.calls
        calls[:] = [each if each.at is not None else replace(each, at=now) for each in calls]

    def _save(self) -> None:
        if self._agent.preset.has_record:
            record.save(self.transcript, self._launch.log_path)

    def _enforce(self, monotonic_s: float) -> None:
        """At its limit it is stopped, while its last turn still fits. The turn to hand back is one turn."""
        handing, preset = self._handing, self._agent.preset
        if self._stopped or self._ending:
            return
        turns = 1 if handing is not None else self._agent.profile.max_turns
        if not preset.limits_turns and (why := over_turns(handing or self.transcript, turns)):
            self._turns = why if handing is None else ""
        elif handing is None and (preset.limits_turns or self.transcript.goes_on):
            why = self._over = over_budget(self.transcript, self._launch)
        else:
            return
        if why:
            self._ending = True
            self._process.hand_back(monotonic_s, why=why)

    def _hands_back(self, monotonic_s: float) -> bool:
        """Let an agent that used up its budget write down where it is: one turn, then it is over."""
        preset, transcript = self._agent.preset, self.transcript
        if transcript.kind == "resource_exhaustion/budget" and not self._over:
            self._over = transcript.error or "its budget is used up"
        can = bool(preset.resume and transcript.session) and not self._stopped
        if not self._over or self._handing is not None or not can:
            return False
        log_path = _hand_back_log(self._launch.log_path)
        tools = preset.handing_back
        run = replace(self._run, session=transcript.session, resumes=True, turns=1, tools=tools, max_cost=None)
        run = replace(run, prompt_file=os.path.abspath(prompt_path(Path(log_path))))
        asked = replace(
            self._launch, prompt=STOP, log_path=log_path, part=HAND_BACK, timeout_s=HANDS_BACK_S, fresh_session=False
        )
        before = Spent(
            tokens_in=transcript.before.tokens_in + transcript.tokens_in,
            tokens_out=transcript.before.tokens_out + transcript.tokens_out,
        )
        self._handing = Transcript(session=transcript.session, model=self._run.model, resumed=True, before=before)
        record.pass_over(preset, self._handing, self._launch.env)
        self._ending = False
        try:
            self._process = self._agent.start(asked, run, monotonic_s)
        except SpawnFailed:
            return False
        return True

    def _take_back(self) -> None:
        """What it handed back belongs to the run it ended."""
        handed, mine = self._handing, self.transcript
        if handed is None:
            return
        cost, more = mine.reckoned(), handed.reckoned()
        for each in handed.by_model().values():
            mine.closed.setdefault(each.model, Spent(each.model)).add(each)
        mine.cost = None if cost is None or more is None else cost + more
        mine.turns += handed.turns
        mine.says(handed.said)


def over_turns(transcript: Transcript, most: int | None) -> str:
    """That a live agent has used up its turns and goes on; empty while it may."""
    used_up = most is not None and transcript.goes_on and transcript.turns >= most
    return f"used up its {most} turns" if used_up else ""


def over_budget(transcript: Transcript, launch: Launch) -> str:
    """In which way a live agent is at its limit, with one more turn in mind to hand back; empty when it is not."""
    if launch.max_tokens is not None:
        last = transcript.last_turn
        if transcript.tokens + last.tokens_in + last.tokens_out > launch.max_tokens:
            return f"used {transcript.tokens} tokens of {launch.max_tokens}"
    cost = transcript.reckoned() if launch.max_cost is not None else None
    if launch.max_cost is not None and cost is not None:
        share = transcript.last_turn
        last_cost = cost * (share.tokens_in + share.tokens_out) // max(1, transcript.tokens)
        if cost + last_cost > launch.max_cost:
            return f"cost {cost / MILLION:.4f} of {launch.max_cost / MILLION:.4f}"
    return ""


def prompt_path(log_path: Path) -> Path:
    """Where the prompt of an attempt is: beside its log."""
    return log_path.with_suffix(".prompt.md")


def _hand_back_log(log_path: str) -> str:
    return f"{log_path.removesuffix('.log')}.{HAND_BACK}.log"


def _prepare(path: Path, text: str | None) -> None:
    """Write the prompt; where it is read from standard input its file is made by who opens it."""
    if text is not None:
        write_private(str(path), text)
        return
    with suppress(FileNotFoundError):
        os.unlink(path)

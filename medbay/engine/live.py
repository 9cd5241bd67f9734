"""The attempts that an engine runs: the launch of each, what is live, which processes to record."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from medbay.core import workspace
from medbay.core.agent import class_of, is_agents
from medbay.core.attempt.rescue import Failure
from medbay.core.budget import allowance
from medbay.core.model import Task
from medbay.core.outcome import Checked, Failed, Outcome, Output, Succeeded, redacted
from medbay.core.redaction import redact
from medbay.engine.settings import Settings
from medbay.errors import StoreError
from medbay.places.environment import known_variables
from medbay.places.logs import read_ends
from medbay.places.protocol import AttemptKey, Launch, Running
from medbay.service import prompts
from medbay.service.attempts import Claim, Finished

_directory = lru_cache(maxsize=256)(Path)  # many tasks run in few directories, and parsing a path takes a while
_BROKEN_MAX: Final = 1_000  # characters of what a runner broke on

log = logging.getLogger("medbay.engine")

Process = tuple[str, int, int, int]  # task, number, pid, start time


@dataclass(frozen=True, slots=True)
class Live:
    """An attempt this engine is running."""

    claim: Claim
    running: Running

    @property
    def verifying(self) -> bool:
        """Whether its work has succeeded and its checks are what runs."""
        return self.claim.task.status == "pending_verification"

    def poll(self, monotonic_s: float) -> Outcome | None:
        """How it ended, if it did. Whatever a runner breaks on is the end of the attempt, not of the engine."""
        try:
            return self.running.poll(monotonic_s)
        except StoreError:
            raise
        except Exception as error:
            with suppress(Exception):
                self.running.kill()
            return broken(self.claim, error)

    def leaves_checks(self, outcome: Outcome, *, evaluates: bool) -> bool:
        """Whether its result may have to be checked or evaluated now."""
        if isinstance(outcome, Succeeded):
            return self.verifying or bool(self.claim.task.checks) or workspace.to_land(outcome) is not None
        return self.verifying or (evaluates and isinstance(outcome, Failure))

    def finished(self, outcome: Outcome, now: int, settings: Settings) -> Finished:
        """How it ended, to be settled; nothing of it is kept or judged before its secrets are taken out."""
        claim = self.claim
        return Finished(
            task_id=claim.task.id,
            number=claim.attempt.number,
            outcome=redacted(outcome, settings.redaction.knowing(_variables(claim.task))),
            ended_at=now,
            checks=claim.task.checks,
            claim=claim,
            takes_advice=not _fails_again(claim.task, outcome) or settings.takes_advice(claim.task, settings.home),
        )


def _fails_again(task: Task, outcome: Outcome) -> bool:
    """Whether it matters if its command can take advice: it is not its first failure."""
    return task.streak > 0 and isinstance(outcome, Failed | Checked)


def broken(claim: Claim, error: Exception) -> Failed:
    """The end of an attempt whose runner broke, with what its log has."""
    report = redact("".join(traceback.format_exception(error)))
    log.error("the runner of attempt %d of %s broke\n%s", claim.attempt.number, claim.task.id, report)
    said = f"[medbay] its runner broke: {type(error).__name__}: {error}"[:_BROKEN_MAX]
    log_path = claim.attempt.log_path
    head, tail, total_bytes = read_ends(log_path) if log_path else ("", "", 0)
    tail = f"{tail}\n{said}\n".lstrip("\n")
    output = Output(head=head, tail=tail, total_bytes=total_bytes + len(said), log_path=log_path)
    return Failed(output=output)


def _variables(task: Task) -> dict[str, str]:
    """The variables of a task whose values must not be repeated."""
    return known_variables(task.env, task.env_file, task.cwd)


def launch_of(claim: Claim, settings: Settings, *, store_id: str, ahead: bool) -> Launch:
    """Everything it needs to start, or to wait ahead of its start."""
    task, attempt = claim.task, claim.attempt
    max_tokens, max_cost = allowance(task, settings.budget)
    return Launch(
        store_id=store_id,
        task_id=task.id,
        number=attempt.number,
        runner=task.runner,
        command=task.command,
        shell=task.shell,
        cwd=_directory(task.cwd) if task.cwd else settings.home,
        log_path=attempt.log_path,
        result_path=settings.result_path(task.id, attempt.number),
        idempotency_key=f"{store_id}:{task.id}:{task.iteration}",
        env=dict(task.env),
        env_file=task.env_file,
        env_from=task.env_from,
        guidance=attempt.guidance,
        prompt=_prompt(claim, settings) if is_agents(task) else "",
        model=task.model,
        model_class=class_of(task.role),
        input_text=json.dumps(claim.inputs, ensure_ascii=False) if claim.inputs else "",
        fresh_session=task.fresh_session,
        session=attempt.resumes,
        session_tokens=claim.briefing.session_tokens,
        max_tokens=max_tokens,
        max_cost=max_cost,
        timeout_s=task.timeout_ms / 1000 if task.timeout_ms else None,
        memory_bytes=task.memory_bytes,
        cpu_s=task.cpu_ms / 1000 if task.cpu_ms else None,
        stall_s=_stall_s(task, settings),
        ahead=ahead,
        keep_log=task.crashes > 0,
        work=workspace.requested(task) if is_agents(task) else None,
        place=task.place,
        **_checks(task),
    )


def _checks(task: Task) -> dict[str, Any]:
    """What is checked right after the work, where that is done elsewhere."""
    if not task.place or not task.checks:
        return {}
    by = {"check_timeout_s": task.check_timeout_ms / 1000, "fail_fast": task.fail_fast, "threshold": task.threshold}
    return {"checks": task.checks, **by}


def _stall_s(task: Task, settings: Settings) -> float | None:
    """After how long without progress it is ended, in seconds: its own word, else that for its kind of runner."""
    given = settings.agent_stall_ms if is_agents(task) else settings.stall_ms
    wanted = given if task.stall_ms is None else task.stall_ms
    return wanted / 1000 if wanted else None


def _prompt(claim: Claim, settings: Settings) -> str:
    """The prompt of an agent."""
    attempt, known = claim.attempt, claim.briefing
    return prompts.make(
        claim.task,
        attempt.number,
        attempt.guidance,
        resumes=bool(attempt.resumes),
        earlier=known.earlier,
        redaction=settings.redaction,
    )


class Unrecorded:
    """The attempts whose process the store does not know yet; of most it never needs to."""

    def __init__(self) -> None:
        self._keys: set[AttemptKey] = set()

    def add(self, key: AttemptKey) -> None:
        """It was started; its process is recorded once that is worth it."""
        self._keys.add(key)

    def discard(self, key: AttemptKey) -> None:
        """It is over."""
        self._keys.discard(key)

    def to_record(self, live: Mapping[AttemptKey, Live]) -> list[Process]:
        """The processes that should be recorded now."""
        found = []
        for key in self._keys & live.keys():
            process = live[key].running.identity
            if process is not None:
                found.append((*key, process.pid, process.pid_start))
        return found

    def recorded(self, processes: list[Process]) -> None:
        """The store has them."""
        self._keys.difference_update((task_id, number) for task_id, number, _, _ in processes)

    def clear(self) -> None:
        """This engine goes on as another worker."""
        self._keys.clear()

"""What a runner is told of a claimed attempt."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from medbay.core.agent import is_agents
from medbay.core.attempt import prompt
from medbay.core.model import changed
from medbay.engine.settings import Settings
from medbay.runners.protocol import Launch
from medbay.service.attempts import Claim

_directory = lru_cache(maxsize=256)(Path)  # many tasks run in few directories, and parsing a path takes a while


def launch_of(claim: Claim, settings: Settings, *, store_id: str, ahead: bool) -> Launch:
    """Everything it needs to start, or to wait ahead of its start."""
    task, attempt = claim.task, claim.attempt
    return Launch(
        store_id=store_id,
        task_id=task.id,
        number=attempt.number,
        runner=task.runner,
        command=task.command,
        cwd=_directory(task.cwd) if task.cwd else settings.root.parent,
        log_path=Path(attempt.log_path),
        result_path=settings.result_path(task.id, attempt.number),
        idempotency_key=f"{store_id}:{task.id}:{task.iteration}",
        env=dict(task.env),
        guidance=attempt.guidance,
        prompt=_prompt(claim, settings) if is_agents(task) else "",
        model=task.model,
        fresh_session=task.fresh_session,
        timeout_s=task.timeout_ms / 1000 if task.timeout_ms else None,
        memory_bytes=task.memory_bytes,
        cpu_s=task.cpu_ms / 1000 if task.cpu_ms else None,
        ahead=ahead,
        keep_log=task.crashes > 0,
    )


def _prompt(claim: Claim, settings: Settings) -> str:
    """What an agent is told; the specification that it reviews is another task's, and goes without its secrets."""
    task, attempt = claim.task, claim.attempt
    if task.role == "review":
        task = changed(task, spec=settings.redaction.knowing(dict(task.env)).text(task.spec))
    return prompt.make(task, attempt=attempt.number, guidance=attempt.guidance)

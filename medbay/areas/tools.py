"""What agents and other clients do by the Model Context Protocol: one method per tool, for a person or for one attempt.

An attempt sees its own task and what it created, and reports on itself alone. A person sees and does everything.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from medbay.core.agent import profile_of
from medbay.core.model import Task
from medbay.core.people.question import is_persons
from medbay.core.untrusted import block, line
from medbay.errors import NotAllowed, NotFound, UsageError
from medbay.integrations.passes import ATTEMPT, SOCKET, TOKEN, Pass
from medbay.places.logs import append_note
from medbay.store import history
from medbay.store.tasks import TaskFilter
from medbay.views import explanation
from medbay.views import intake as intake_views
from medbay.views import task as task_views

if TYPE_CHECKING:
    from medbay.bay import Bay

ADDED_MAX: Final = 50  # by one task of an agent
LIST_MAX: Final = 500
NOTE_MAX: Final = 2_000
TEXT_MAX: Final = 20_000
LINES_MAX: Final = 2_000
__all__ = ["ATTEMPT", "NAMES", "SOCKET", "TOKEN", "Tools"]

NAMES: Final = ("add", "capture", "list", "show", "log", "explain", "report", "ask", "note")


class Tools:
    """The tools, on a Bay: without an attempt they are a person's."""

    def __init__(self, bay: Bay, attempt: Pass | None = None) -> None:
        self._bay = bay
        self._attempt = attempt

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Use a tool by its name; what is wrong with the call is said as an error of the caller."""
        if name not in NAMES:
            raise NotFound(f'there is no tool "{name}"', hint=f"one of {', '.join(NAMES)}")
        tool: Callable[..., Any] = getattr(self, name)
        try:
            return tool(**{str(key): value for key, value in arguments.items() if value not in (None, "", [])})
        except TypeError as error:
            raise UsageError(f"wrong arguments for {name}: {error}") from None

    def add(self, title: str, **options: Any) -> dict[str, Any]:
        """Add a task; the names are those of `medbay add`."""
        if self._attempt is not None:
            options = self._within_rights(self._attempt, options)
        return task_views.summary(self._bay.add(title, **options))

    def capture(self, text: str) -> dict[str, Any]:
        """Write a thought down; it becomes a candidate for work, which a person promotes or discards."""
        return intake_views.capture_as_json(self._bay.intake.capture(str(text)))

    def list(self, status: Sequence[str] = (), limit: int = 50) -> list[dict[str, Any]]:
        """Tasks, what changed last first."""
        wanted = TaskFilter(statuses=tuple(map(str, status)), limit=max(1, min(int(limit), LIST_MAX)))
        if self._attempt is None:
            return [task_views.summary(each) for each in self._bay.select(wanted)]
        mine = [each for each in self._own() if not wanted.statuses or each.status in wanted.statuses]
        return [task_views.summary(each) for each in mine[: wanted.limit]]

    def show(self, id: str = "") -> dict[str, Any]:
        """Everything about one task."""
        return self._bay.show(self._seen(id).id)

    def log(self, id: str = "", attempt: int = 0, lines: int = 100) -> dict[str, Any]:
        """The end of the output of an attempt, the newest by default, as the store keeps it."""
        task = self._seen(id)
        number = int(attempt) or task.attempts
        found = self._bay.output(task.id, number)
        if found is None:
            raise NotFound(f"nothing is stored of attempt {number} of {task.id} yet", hint="it may still run")
        kept = found.text().splitlines()[-max(1, min(int(lines), LINES_MAX)) :]
        return {"task": task.id, "attempt": number, "text": "\n".join(kept), "total_bytes": found.total_bytes}

    def explain(self, id: str = "") -> dict[str, Any]:
        """Why a task is where it is, what happens next, and what would change that."""
        return explanation.as_json(self._bay.explain(self._seen(id).id))

    def report(
        self,
        outcome: str = "succeeded",
        summary: str = "",
        id: str = "",
        artifacts: Sequence[str] = (),
        category: str = "",
        retry_after: str = "",
    ) -> dict[str, Any]:
        """Report how the work ended: of an attempt its result, of a person's task that it is done."""
        task = self._own_task(id)
        if self._attempt is None:
            if not is_persons(task):
                raise NotAllowed(f"{task.id} is not a person's task", hint="only its own attempt reports on it")
            chosen, _ = self._bay.answer(task.id, "done" if outcome == "succeeded" else "cancel", note=summary)
            return {"task": task.id, "answer": chosen}
        if outcome not in ("succeeded", "failed"):
            raise UsageError(f'"{line(outcome, 40)}" is no outcome', hint="succeeded or failed")
        said: dict[str, Any] = {"outcome": outcome, "summary": summary, "category": category}
        said |= {"retry_after": retry_after, "artifacts": [str(each) for each in artifacts]}
        return self._leave(self._attempt, {name: value for name, value in said.items() if value})

    def ask(self, question: str) -> dict[str, Any]:
        """Ask a person. The attempt ends with it, and goes on with the answer."""
        words = block(str(question), TEXT_MAX)
        if not words:
            raise UsageError("the question is empty")
        if self._attempt is None:
            return task_views.summary(self._bay.add(line(words, 200), person=True, description=words))
        said = {"outcome": "failed", "category": "unknown/asked", "question": words, "summary": line(words, 400)}
        return {**self._leave(self._attempt, said), "next": "stop now: the answer comes with your next attempt"}

    def note(self, text: str, id: str = "") -> dict[str, Any]:
        """Note progress in the log of the running attempt."""
        task = self._own_task(id)
        live = self._bay.attempts(task.id, 1)
        if task.live is None or not live or not live[-1].log_path:
            raise NotAllowed(f"{task.id} is not running", hint="only a running attempt has progress")
        append_note(live[-1].log_path, f"note: {line(str(text), NOTE_MAX)}")
        return {"task": task.id, "attempt": task.live}

    def _own(self) -> Sequence[Task]:
        """The task of the attempt, and what it created."""
        assert self._attempt is not None
        mine = self._bay.get(self._attempt.task_id)
        with self._bay.store.read() as tx:
            return (mine, *history.created_by(tx, self._bay.actor, LIST_MAX))

    def _seen(self, id: str) -> Task:
        """A task the caller may look at; an attempt names its own by saying nothing."""
        if self._attempt is None:
            if not id:
                raise UsageError("which task?", hint="list names them")
            return self._bay.get(id)
        found = next((each for each in self._own() if each.id == (id or self._attempt.task_id)), None)
        if found is None:  # the same whether it exists or not
            raise NotFound(f'you have no task "{line(str(id), 40)}"', hint="list names those you may see")
        return found

    def _own_task(self, id: str) -> Task:
        """The task that is reported on: an attempt's own, and no other."""
        task = self._seen(id)
        if self._attempt is not None and task.id != self._attempt.task_id:
            raise NotAllowed(f"{task.id} is not the task you work on", hint="each attempt reports on itself")
        return task

    def _within_rights(self, mine: Pass, options: Mapping[str, Any]) -> dict[str, Any]:
        """What an attempt may add: in its own directory, after what it may see, out of its sandbox only by its like."""
        allowed = "run agent person description spec after check tag priority timeout".split()
        if wrong := sorted(set(options) - set(allowed)):
            raise UsageError(f"an attempt cannot set {', '.join(wrong)}", hint=f"it may set {', '.join(allowed)}")
        for each in options.get("after") or ():
            self._seen(str(each))
        name = profile_of(mine.runner)
        profile = self._bay.place.config.agents.get(name)
        if profile is not None and profile.sandbox:
            escapes = [each for each in ("run", "check") if options.get(each)]
            if escapes or options.get("agent", name) != name:
                raise NotAllowed("a sandboxed agent adds tasks for its own profile or for a person only")
        if len(self._own()) > ADDED_MAX:
            raise NotAllowed(f"this task has added {ADDED_MAX} tasks already", hint="ask a person")
        return {**options, "cwd": mine.cwd}

    def _leave(self, mine: Pass, said: Mapping[str, Any]) -> dict[str, Any]:
        """Write the result of the attempt, whole or not at all."""
        path = Path(os.path.abspath(mine.result_path))
        part = path.with_name(f"{path.name}.part")
        with suppress(FileNotFoundError):
            part.unlink()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(part, flags, 0o600), "w", encoding="utf-8") as file:
            json.dump(said, file)
        os.replace(part, path)
        return {"task": mine.task_id, "attempt": mine.number, "recorded": dict(said)}

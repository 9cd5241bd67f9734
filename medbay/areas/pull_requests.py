"""What checks and reviewers say of a pull request after its task was completed, for as long as the request is open."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from medbay.core import revision
from medbay.core.model import Task
from medbay.core.workspace import round_of
from medbay.engine.identity import this_host
from medbay.errors import MedbayError
from medbay.integrations.pull_request import CameBack, PullRequest
from medbay.integrations.trackers.protocol import TrackerError
from medbay.service.free_ids import fresh_ids
from medbay.store import pull_requests, tasks
from medbay.store.apply import apply
from medbay.store.database import Tx
from medbay.store.pull_requests import PullRequestRow

if TYPE_CHECKING:
    from medbay.bay import Bay

AT_ONCE: Final = 20  # that one cycle looks at


class PullRequests:
    """The open pull requests whose branches are on this machine."""

    def __init__(self, bay: Bay) -> None:
        self._bay = bay
        self._config = bay.place.config.git

    def cycle(self) -> list[str]:
        """Look at those that are due; what went wrong."""
        errors = []
        with self._bay.store.read() as tx:
            found = pull_requests.due(tx, this_host().name, AT_ONCE) if self._config.pr_watch_ms else []
        for each in found:
            wait_ms = self._config.pr_poll_ms
            try:
                ended = self._look(each)
            except (MedbayError, OSError) as error:
                ended = ""
                errors.append(f"{each.url}: {error}")
                if isinstance(error, TrackerError) and error.wait_s:
                    wait_ms = max(wait_ms, round(error.wait_s * 1000))
            again_at = self._bay.now() + wait_ms
            if ended:
                self._bay.write(partial(pull_requests.close, name=each.name, how=ended))
            else:
                self._bay.write(partial(pull_requests.look_again, name=each.name, at=again_at))
        return errors

    def _look(self, row: PullRequestRow) -> str:
        """Look at one, and have answered what came back; why it is not looked at any more, empty while it is."""
        with self._bay.store.read() as tx:
            task, answer = tasks.get(tx, row.task_id), pull_requests.newest_revision(tx, row)
            now = tx.now
        if task is None or now > row.opened_at + self._config.pr_watch_ms:
            return "it is not watched any longer"
        if answer is not None and not answer.finished:
            return ""  # it is being answered; what is written meanwhile is found then
        if answer is not None and answer.status == "cancelled":
            return f"{answer.id}, which answered it, was cancelled"
        branch, trackers = self._bay.branches.of(task, row.name), self._bay.place.config.trackers.values()
        request = PullRequest(branch, rounds=self._config.max_pr_rounds, trackers=tuple(trackers))
        found = request.look()
        if not isinstance(found, CameBack):
            return found
        if found.given_up:
            self._hand_over(task, found)
        else:
            self._bay.write(partial(self._revise, task=task, row=row, words=found.words))
        request.note(found)  # last: what is read twice is still answered once
        return "it came back too often" if found.given_up else ""

    def _revise(self, tx: Tx, task: Task, row: PullRequestRow, words: str) -> None:
        if tasks.by_key(tx, revision.key_of(task.id, words)) is None:
            at = round_of(row.task_id, row.name)
            new_id = next(fresh_ids(tx, self._bay.ids))
            apply(tx, revision.on_came_back(task, tx.now, new_id=new_id, words=words, round_number=at))

    def _hand_over(self, task: Task, found: CameBack) -> None:
        self._bay.add(
            f'Answer the pull request of "{task.title}" ({task.id})'[:500],
            person=True,
            description=found.words,
            key=revision.key_of(task.id, found.words),
        )

"""Answering by the link of a message: it opens one question, once, for whoever the channel reaches."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from medbay import app
from medbay.service import links, tasks

if TYPE_CHECKING:
    from medbay.bay import Bay
    from medbay.store.database import Tx


class Links:
    """The links of one store."""

    def __init__(self, bay: Bay) -> None:
        self._bay = bay

    def question(self, link: str) -> dict[str, Any]:
        """Return the question that a link opens, and the channel it came through. Nothing is used up."""
        with self._bay.store.read() as tx:
            found, asked = links.opened(tx, link)
        return {"question": self._bay.page.question(asked.id), "channel": found.channel}

    def answer(self, link: str, option: str, *, note: str = "") -> tuple[str, list[str]]:
        """Answer the question of a link; what was chosen, and the tasks it was applied to."""
        redaction = app.redaction_of(self._bay.place.config, os.environ)

        def act(tx: Tx) -> tuple[str, list[str]]:
            found, asked = links.opened(tx, link)
            return tasks.answer(tx, asked.id, option, actor=found.actor, note=note, redaction=redaction)

        return self._bay.write(act)

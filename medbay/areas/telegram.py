"""Answers from Telegram: buttons and replies under the messages of questions, heard by one engine at a time.

Only the chats that a channel writes to are heard. How a question ended is written into its messages by the outbox,
wherever it was answered.
"""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from medbay import app
from medbay.core.delivery import Channel
from medbay.core.redaction import Redaction
from medbay.errors import MedbayError, SpawnFailed, StoreRemoved
from medbay.integrations import telegram
from medbay.integrations.refusal import Refused
from medbay.integrations.telegram import Bot, ChatAnswer
from medbay.integrations.url import resolved
from medbay.store import messages

if TYPE_CHECKING:
    from medbay.bay import Bay

WAIT_S: Final = 20  # how long Telegram holds a request for something to happen
LEASE_MS: Final = 60_000
_TIMEOUT_S: Final = 15.0
_FIRST_WAIT_S: Final = 2.0
_LONGEST_WAIT_S: Final = 60.0
_STOP_S: Final = 1.0  # a request that waits for people is left to itself
_ANSWER_MAX: Final = 2_000  # characters


def bots_of(channels: Iterable[Channel]) -> list[Bot]:
    """The bots among the channels, each once, with all chats that any channel writes to."""
    chats: dict[tuple[str, str], list[str]] = defaultdict(list)
    for channel in channels:
        if channel.kind != "url":
            continue
        try:
            url = resolved(channel)
            found = telegram.bot_of(url) if url.startswith("tgram://") else None
        except (SpawnFailed, Refused):
            continue  # sending says why
        if found is not None:
            chats[found.token, found.api] += found.chats
    return [Bot(token, tuple(dict.fromkeys(known)), api) for (token, api), known in chats.items()]


class TelegramThread:
    """Hears one bot for as long as its daemon runs, on a store connection of its own."""

    def __init__(self, bot: Bot, make: Callable[[], Bay], report: Callable[[str], None], *, owner: str) -> None:
        self._bot = bot
        self._make = make
        self._report = report
        self._owner = owner
        self._name = f"telegram:{hashlib.sha256(bot.token.encode()).hexdigest()[:16]}"
        self._hiding = Redaction(secrets=(bot.token,))
        self._said = ""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="medbay-telegram", daemon=True)

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()

    def stop(self) -> None:
        """End; what Telegram still holds for us is heard by whoever listens next."""
        self._stopped.set()
        self._thread.join(timeout=_STOP_S)

    def _run(self) -> None:
        wait_s = _FIRST_WAIT_S
        while not self._stopped.is_set():
            try:
                with self._make() as bay:
                    while not self._stopped.is_set():
                        pause_s = self.listen(bay)
                        wait_s, self._said = _FIRST_WAIT_S, ""
                        self._stopped.wait(pause_s)
                    with bay.store.write() as tx:
                        messages.let_go(tx, self._name, self._owner)
            except StoreRemoved:
                return
            except (MedbayError, Refused, OSError, ValueError, KeyError, TypeError) as error:
                self._tell(error)
                asked_s = error.wait_ms / 1000 if isinstance(error, Refused) else 0.0
                self._stopped.wait(max(wait_s, asked_s))
                wait_s = min(wait_s * 2, _LONGEST_WAIT_S)

    def listen(self, bay: Bay, *, wait_s: int = WAIT_S) -> float:
        """Hear what people did, and answer for them; how long to pause until the next time."""
        with bay.store.write() as tx:
            position = messages.listen(tx, self._name, owner=self._owner, lease_ms=LEASE_MS)
        if position is None:
            return LEASE_MS / 4_000
        found, onward = telegram.heard(self._bot, position, wait_s, wait_s + _TIMEOUT_S)
        for each in found:
            if self._stopped.is_set():
                return 0.0
            self._take(bay, each)
            with bay.store.write() as tx:
                messages.move(tx, self._name, each.number + 1)
        if onward > position:
            with bay.store.write() as tx:
                messages.move(tx, self._name, onward)
        return 0.0

    def _take(self, bay: Bay, said: ChatAnswer) -> None:
        if said.chat not in self._bot.chats:
            self._reply(said, "this chat may not answer here", alert=True)
            return
        with bay.store.read() as tx:
            question = said.question or messages.question_at(tx, said.place)
        if question is None:
            return  # a reply to something else
        bay.actor = f"person:{said.who} (telegram)"
        try:
            chosen, tasks = bay.answer(question, said.choice[:_ANSWER_MAX])
        except MedbayError as error:
            self._reply(said, str(error), alert=True)
            return
        self._reply(said, f"{chosen}: {', '.join(tasks[:5])}".rstrip(": "), alert=False)

    def _reply(self, said: ChatAnswer, text: str, *, alert: bool) -> None:
        try:
            telegram.reply(self._bot, said, text, _TIMEOUT_S, alert=alert)
        except (Refused, OSError) as error:  # the answer counts; that it was heard, the message itself will say
            self._tell(error)

    def _tell(self, error: Exception) -> None:
        words = self._hiding.text(f"telegram: {error}")
        if words != self._said:
            self._report(words)
        self._said = words


def listeners(bay: Bay, make: Callable[[], Bay], report: Callable[[str], None]) -> list[TelegramThread]:
    """Those of a daemon, started: one for each bot of its channels."""
    owner = bay.ids.store()
    made = [TelegramThread(each, make, report, owner=owner) for each in bots_of(app.channels_of(bay.place.config))]
    for each in made:
        each.start()
    return made

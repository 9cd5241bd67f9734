"""Telegram without any extra: messages with a button for each option, changed in place when the question is over.

An address is `tgram://TOKEN/CHAT/CHAT`. Where a message is, is said as `CHAT/MESSAGE`.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from medbay.integrations.refusal import Refused
from medbay.views.message import Message

API: Final = "https://api.telegram.org"
DATA_MAX: Final = 64  # bytes that Telegram hands back for a button
TEXT_MAX: Final = 4_000  # characters; Telegram takes 4,096
_ANSWER_MAX: Final = 5_000_000  # bytes
_GONE: Final = ("message is not modified", "message to edit not found", "message can't be edited")


@dataclass(frozen=True, slots=True)
class Bot:
    """A bot and the chats it writes to, which are also the only ones it hears."""

    token: str
    chats: tuple[str, ...]
    api: str = API

    def call(self, method: str, timeout_s: float, **given: Any) -> Any:
        """Call the API; raises Refused with the wait that the service asks for, or OSError."""
        body = json.dumps(given, ensure_ascii=False).encode()
        request = urllib.request.Request(
            f"{self.api}/bot{self.token}/{method}", data=body, headers={"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as answer:
                said = json.loads(answer.read(_ANSWER_MAX))
        except urllib.error.HTTPError as error:
            with error:
                said = _parsed(error.read(_ANSWER_MAX))
            why = str(said.get("description") or error.reason)
            wait = (said.get("parameters") or {}).get("retry_after")
            raise Refused(f"HTTP {error.code}: {why}"[:500], int(wait) * 1000 if wait else 0) from None
        return said.get("result")


def bot_of(url: str) -> Bot:
    """The bot of an address; raises Refused where it names no chat."""
    parts = urllib.parse.urlsplit(url)
    chats = tuple(filter(None, (urllib.parse.unquote(each) for each in parts.path.split("/"))))
    if not parts.netloc or not chats:
        raise Refused("write tgram://BOT_TOKEN/CHAT_ID")
    api = urllib.parse.parse_qs(parts.query).get("api", [API])[0]
    return Bot(urllib.parse.unquote(parts.netloc), chats, api.rstrip("/"))


def send(url: str, text: Message, key: str, timeout_s: float) -> str:
    """Send a message to every chat, or write into those it is about; where they are."""
    bot = bot_of(url)
    if text.places:
        for place in text.places:
            _change(bot, place, text.whole, timeout_s)
        return ""
    keyboard = _keyboard(text)
    sent = []
    for chat in bot.chats:
        given: dict[str, Any] = {"chat_id": chat, "text": text.whole[:TEXT_MAX], "disable_web_page_preview": True}
        made = bot.call("sendMessage", timeout_s, **given, **({"reply_markup": keyboard} if keyboard else {}))
        sent.append(f"{chat}/{made['message_id']}")
    return " ".join(sent)


def _keyboard(text: Message) -> dict[str, Any] | None:
    """A button for each option, as far as Telegram can hand back which one it was."""
    rows = [
        [{"text": label, "callback_data": data}]
        for label, answer in text.choices
        if len((data := f"{answer}|{text.question}").encode()) <= DATA_MAX
    ]
    return {"inline_keyboard": rows} if rows else None


def _change(bot: Bot, place: str, whole: str, timeout_s: float) -> None:
    """Write into a message, which takes its buttons away; one that is gone needs nothing any more."""
    chat, _, number = place.rpartition("/")
    try:
        bot.call("editMessageText", timeout_s, chat_id=chat, message_id=int(number), text=whole[:TEXT_MAX])
    except Refused as refused:
        if not any(words in str(refused) for words in _GONE):
            raise


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """What a person did in a chat: pressed a button, or replied to a message."""

    number: int  # of the update
    chat: str
    who: str
    place: str
    choice: str  # what was chosen, or the words of a reply
    question: str = ""  # empty: the one of the message that was replied to
    button: str = ""  # what Telegram wants answered


def heard(bot: Bot, position: int, wait_s: int, timeout_s: float) -> tuple[list[ChatAnswer], int]:
    """Wait for what people do, at most so long; and from where to read on."""
    wanted = ["callback_query", "message"]
    updates = bot.call("getUpdates", timeout_s, offset=position, timeout=wait_s, allowed_updates=wanted) or []
    found = [_said(each) for each in updates]
    return [each for each in found if each is not None], max(
        (int(each["update_id"]) + 1 for each in updates), default=position
    )


def _said(update: dict[str, Any]) -> ChatAnswer | None:
    pressed, written = update.get("callback_query"), update.get("message")
    number = int(update["update_id"])
    if pressed and pressed.get("message"):
        of = pressed["message"]
        choice, _, question = str(pressed.get("data") or "").partition("|")
        who, chat = _name(pressed.get("from")), str(of["chat"]["id"])
        place = f"{chat}/{of['message_id']}"
        return ChatAnswer(number, chat, who, place, choice, question, button=str(pressed["id"]))
    if written and written.get("reply_to_message") and written.get("text"):
        chat = str(written["chat"]["id"])
        place = f"{chat}/{written['reply_to_message']['message_id']}"
        return ChatAnswer(number, chat, _name(written.get("from")), place, str(written["text"]))
    return None


def _name(person: Any) -> str:
    found = person or {}
    return str(found.get("username") or found.get("first_name") or found.get("id") or "somebody")[:64]


def reply(bot: Bot, said: ChatAnswer, text: str, timeout_s: float, *, alert: bool) -> None:
    """Tell the person what became of it."""
    if said.button:
        bot.call("answerCallbackQuery", timeout_s, callback_query_id=said.button, text=text[:200], show_alert=alert)
    else:
        bot.call("sendMessage", timeout_s, chat_id=said.chat, text=text[:TEXT_MAX])


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        found = json.loads(raw)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def chats_of(bots: Sequence[Bot]) -> frozenset[str]:
    """The chats that may answer."""
    return frozenset(chat for each in bots for chat in each.chats)

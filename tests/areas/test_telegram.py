"""Questions in Telegram: a button answers, and how a question ended stands in its message, wherever it was answered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from medbay import app
from medbay.areas.telegram import TelegramThread, bots_of
from medbay.bay import Bay
from medbay.core.decision import Draft
from medbay.core.delivery import channel
from medbay.core.people.question import ask_for_agent
from medbay.core.redaction import Redaction
from medbay.engine.deliver import Deliverer
from medbay.integrations.url import UrlSender
from medbay.store.apply import apply
from tests.cli.calling import RealTime
from tests.telegram import TOKEN, Telegram, running_telegram
from tests.waiting import wait_for


@pytest.fixture
def telegram() -> Iterator[Telegram]:
    """The service."""
    with running_telegram() as made:
        yield made


class Home:
    """A store with one bot."""

    def __init__(self, folder: Path, telegram: Telegram, *chats: int) -> None:
        (folder / ".medbay").mkdir()
        place = app.find_place(folder, store_url=f"sqlite:///{folder}/.medbay/medbay.db", environ={"HOME": str(folder)})
        phone = channel(name="phone", url=telegram.address(*chats), quiet=(0, 1439), urgent=True)
        self.bay = Bay(replace(place, config=replace(place.config, notify={"phone": phone})), actor="person:test")
        (bot,) = bots_of([phone])
        self.said: list[str] = []
        self.listener = TelegramThread(bot, lambda: self.bay, self.said.append, owner="one")
        self.bot = bot
        self.outbox = Deliverer(
            self.bay.store, RealTime(), (phone,), {"url": UrlSender(Redaction())}, owner="one", link_key="key"
        )
        self.outbox.begin()

    def ask(self, title: str = "deploy docs") -> str:
        """Ask, and send it; the id of the task."""
        task = self.bay.add(title, run="true")
        self.bay.block(task.id, "the token lacks a scope", kind="human")
        self.deliver()
        return task.id

    def deliver(self) -> None:
        """Send what there is to send."""
        self.outbox.deliver()
        wait_for(self.is_delivered)

    def is_delivered(self) -> bool:
        """One round of the outbox; whether nothing is left."""
        self.outbox.deliver()
        return self.outbox.is_done


@pytest.fixture
def home(tmp_path: Path, telegram: Telegram) -> Iterator[Home]:
    """A store with one bot and one chat."""
    made = Home(tmp_path, telegram)
    yield made
    made.bay.close()


def test_a_button_answers_and_the_message_says_so(home: Home, telegram: Telegram) -> None:
    """In the name of who pressed it; then there are no buttons any more."""
    task_id = home.ask()
    telegram.press(1, "leave it for later")

    home.listener.listen(home.bay, wait_s=0)
    home.deliver()

    (asked,) = home.bay.page.questions(answered=5)["answered"]
    assert asked["answered_by"] == "person:alice (telegram)" and home.bay.get(task_id).paused
    assert telegram.answered[0]["text"].startswith("leave it for later") and not telegram.answered[0]["show_alert"]
    assert telegram.messages[1]["text"].startswith("✓ Medbay: deploy docs")
    assert "leave it for later (alice (telegram), " in telegram.messages[1]["text"]
    assert "reply_markup" not in telegram.messages[1] and len(telegram.messages) == 1


def test_how_it_ended_is_written_back_wherever_it_was_answered(home: Home, telegram: Telegram) -> None:
    """Into every message about it; a button that is pressed later says that it was answered."""
    task_id = home.ask()
    before = dict(telegram.messages[1])

    home.bay.answer(task_id, "1", note="new token")
    home.deliver()
    telegram.messages[1] = before  # somebody's phone was offline
    telegram.press(1, "cancel")
    home.listener.listen(home.bay, wait_s=0)

    assert telegram.calls.count("editMessageText") == 1
    assert telegram.answered[0]["show_alert"] and home.bay.get(task_id).status == "pending"


def test_an_agent_is_told_words_and_never_a_number(home: Home, telegram: Telegram) -> None:
    """A reply to the message is the answer; its buttons are the other options."""
    asked = agent_asks(home)
    labels = [row[0]["text"] for row in telegram.messages[1]["reply_markup"]["inline_keyboard"]]

    telegram.reply(1, "use SQLite")
    home.listener.listen(home.bay, wait_s=0)

    assert labels == ["leave it for later", "cancel the task"]
    found = home.bay.page.question(asked)
    assert found["answer"] == "answer: use SQLite" and found["answered_by"] == "person:Bob (telegram)"


def agent_asks(home: Home) -> str:
    """A question of an agent, sent; its id."""
    task = home.bay.add("refactor", run="true")
    with home.bay.store.write() as tx:
        draft = Draft(task, tx.now, actor="engine")
        asked = draft.ask(ask_for_agent(task, "Which database?", tx.now, agent="claude"))
        draft.block("human", asked.why)
        apply(tx, draft.decision(asked))
    home.deliver()
    return asked.id


def test_a_chat_that_is_not_named_may_not_answer(home: Home, telegram: Telegram) -> None:
    """Whoever found the bot."""
    task_id = home.ask()
    telegram.press(1, "cancel", chat=666, who="mallory")
    telegram.reply(1, "cancel", chat=666)

    home.listener.listen(home.bay, wait_s=0)

    assert home.bay.get(task_id).status == "blocked"
    assert telegram.answered[0]["text"] == "this chat may not answer here"


def test_one_engine_listens_at_a_time(home: Home, telegram: Telegram) -> None:
    """The other one waits for the lease, and then reads on where the first one was."""
    home.ask()
    telegram.press(1, "cancel")
    other = TelegramThread(home.bot, lambda: home.bay, home.said.append, owner="two")

    home.listener.listen(home.bay, wait_s=0)
    waits_s = other.listen(home.bay, wait_s=0)
    with home.bay.store.write() as tx:
        tx.execute("UPDATE listener SET lease_until = 0")
    other.listen(home.bay, wait_s=0)

    assert waits_s > 0 and telegram.offsets == [0, 1001]
    assert len(telegram.answered) == 1


def test_two_chats_and_a_service_that_asks_for_time(tmp_path: Path, telegram: Telegram) -> None:
    """Each chat has its message, and both are changed; nothing that is secret is said."""
    home = Home(tmp_path, telegram, 42, 43)
    telegram.script = [(429, {"ok": False, "description": "Too Many Requests", "parameters": {"retry_after": 30}})]
    task = home.bay.add("deploy docs", run="true")
    home.bay.block(task.id, "why not", kind="human")
    wait_for(lambda: home.is_delivered() and "sendMessage" in telegram.calls)
    with home.bay.store.read() as tx:
        ((due_at, error),) = tx.rows("SELECT due_at, error FROM effect WHERE status = 'pending'")
    with home.bay.store.write() as tx:
        tx.execute("UPDATE effect SET due_at = 0")
    home.deliver()
    home.bay.answer(task.id, "1")
    home.deliver()

    assert due_at > home.bay.now() + 20_000 and "Too Many Requests" in error and TOKEN not in error
    assert [each["chat_id"] for each in telegram.messages.values()] == ["42", "43"]
    assert all("✓ Medbay" in each["text"] for each in telegram.messages.values())
    home.bay.close()


def test_the_thread_hears_and_ends(home: Home, telegram: Telegram, tmp_path: Path) -> None:
    """Through long polling, on a connection of its own; a stop does not wait for people."""
    task_id = home.ask()
    thread = TelegramThread(home.bot, lambda: Bay(home.bay.place), home.said.append, owner="three")
    thread.start()
    wait_for(lambda: bool(telegram.offsets))

    telegram.press(1, "cancel")
    wait_for(lambda: home.bay.get(task_id).status == "cancelled")

    thread.stop()
    assert home.said == []

"""Messages to real servers of this machine: mail, webhooks and a service through apprise."""

from __future__ import annotations

import email
import email.policy
import threading
import time
from dataclasses import replace

import pytest

from medbay.core.delivery import Channel, Delivery, Later, MessageFacts, channel
from medbay.core.model import Event, Option, Question, Task
from medbay.core.redaction import Redaction
from medbay.errors import SpawnFailed
from medbay.integrations.url import UrlSender
from tests.receivers import running_hook, running_mailbox

NOW = 1_800_000_000_000
TASK = Task(id="k7f2", title="deploy docs", attempts=2, failing_since=NOW - 18 * 60_000, last_category="unknown/auth")
QUESTION = Question(
    id="q-k7f2-1",
    need='deploy docs: GitHub token lacks the scope "workflow"',
    why="trying again cannot help",
    evidence="push refused, scope missing",
    options=(Option("replaced, retry", "retry", ""), Option("cancel", "cancel", "")),
    task_ids=("k7f2",),
    asked_at=NOW,
)


def delivery(to: Channel) -> Delivery:
    """A question on its way."""
    event = Event(name="question:asked", task_id="k7f2", data={"question": "q-k7f2-1"}, seq=7, at=NOW)
    facts = MessageFacts(now=NOW, task=TASK, question=QUESTION)
    lane = f"{to.name}/k7f2"
    return Delivery(key=f"s:{to.name}:7", kind="url", channel=to.name, lane=lane, seq=7, event=event, facts=facts)


def send(to: Channel, *, limit_s: float = 20) -> str:
    """Send the question and wait; why it did not arrive."""
    begun = time.monotonic()
    sending = UrlSender(Redaction()).start(to, delivery(to), begun)
    while (why := sending.poll(time.monotonic())) is None:
        assert time.monotonic() - begun < limit_s
        time.sleep(0.01)
    return why


def test_a_webhook_gets_the_message_as_json() -> None:
    """With the key in the body and in a header, and credentials where the address has them."""
    with running_hook() as hook:
        to = channel(name="hook", url=hook.url.replace("://", "://me:secret@") + "/in?x=1", page="http://host:8484/")

        assert send(to) == ""

    ((path, headers, body),) = hook.received
    assert path == "/in?x=1"
    assert headers["Idempotency-Key"] == "s:hook:7"
    assert headers["Authorization"] == "Basic bWU6c2VjcmV0"
    assert body == {
        "event": "question:asked",
        "title": '! Medbay: deploy docs needs you: GitHub token lacks the scope "workflow"',
        "text": "Tried 2 times in 18m; trying again cannot help.\nLog: push refused, scope missing\n"
        "1 replaced, retry (default)  2 cancel",
        "link": "http://host:8484/inbox/k7f2",
        "command": "medbay answer k7f2 1",
        "task": "k7f2",
        "question": "q-k7f2-1",
        "key": "s:hook:7",
    }


@pytest.mark.parametrize(("code", "arrived"), [(200, True), (202, True), (204, True), (302, False), (500, False)])
def test_any_2xx_is_delivered_and_nothing_else(code: int, arrived: bool) -> None:
    """A redirect is not followed."""
    with running_hook() as hook:
        hook.answers = [(code, {"Location": f"{hook.url}/elsewhere"})]

        why = send(channel(name="hook", url=hook.url))

    assert (why == "") == arrived
    assert len(hook.received) == 1


def test_a_service_that_asks_for_time_gets_it() -> None:
    """429 with Retry-After is more than a failure."""
    with running_hook() as hook:
        hook.answers = [(429, {"Retry-After": "120"}), (503, {"Retry-After": "Wed, 21 Oct 2099 07:28:00 GMT"})]
        to = channel(name="hook", url=hook.url)

        first, second = send(to), send(to)

    assert isinstance(first, Later) and first.wait_ms == 120_000 and first.startswith("HTTP 429")
    assert isinstance(second, Later) and second.wait_ms == 24 * 3_600_000  # never longer than a day


def test_a_service_that_hangs_is_left_at_the_time_limit() -> None:
    """Nothing waits for it any longer."""
    with running_hook() as hook:
        hook.hang = threading.Event()
        to = replace(channel(name="hook", url=hook.url), timeout_ms=300)

        begun = time.monotonic()
        why = send(to)

    assert time.monotonic() - begun < 10
    assert why in ("took longer than 0.3s", "took longer than 300ms", "no answer within the time limit")


def test_what_is_secret_in_an_address_is_in_no_error() -> None:
    """Neither the password nor the path, which may be a token."""
    to = channel(name="hook", url="http://me:hunter22@127.0.0.1:1/T0KEN/abcdef")

    why = send(to)

    assert why == "Connection refused"
    assert to.shown == "http://127.0.0.1:1/***"


def test_a_mail_is_sent_without_any_extra() -> None:
    """To everyone named, with a subject that is enough, and an id that is the same for every try."""
    with running_mailbox() as box:
        url = f"smtp://127.0.0.1:{box.port}/?from=bay@example.org&to=you@example.org,me@example.org"

        assert send(channel(name="mail", url=url)) == ""

    (envelope,) = box.envelopes
    assert envelope.rcpt_tos == ["you@example.org", "me@example.org"]
    mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
    assert mail["Subject"] == '! Medbay: deploy docs needs you: GitHub token lacks the scope "workflow"'
    assert (mail["From"], mail["Message-ID"]) == ("bay@example.org", "<s.mail.7@medbay>")
    assert "medbay answer k7f2 1" in mail.get_content()


def test_an_address_of_another_service_goes_through_apprise() -> None:
    """Its plain JSON service stands for all of them."""
    with running_hook() as hook:
        to = channel(name="other", url=hook.url.replace("http://", "json://"))

        assert send(to) == ""
        hook.answers = [(500, {})]
        why = send(to)

    assert hook.bodies[0]["title"].startswith("! Medbay: deploy docs needs you")
    assert "medbay answer k7f2 1" in hook.bodies[0]["message"]
    assert why.startswith("the service did not take it")


def test_an_address_that_nobody_knows_says_so() -> None:
    """Without its content."""
    assert send(channel(name="x", url="nosuchthing://secret")).startswith(
        "apprise knows no address like nosuchthing://"
    )


def test_an_address_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read when it is used; where it is missing, the variable is named."""
    to = channel(name="hook", url_env="MY_HOOK")
    with pytest.raises(SpawnFailed, match="MY_HOOK is not set"):
        send(to)
    with running_hook() as hook:
        monkeypatch.setenv("MY_HOOK", hook.url)

        assert send(to) == ""

    assert to.shown == "$MY_HOOK"

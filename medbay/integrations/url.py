"""A channel that is an address: `smtp://` and `http://` with what Python has, everything else through apprise.

Each message is sent in a thread of its own with a time limit; nothing here waits for it.
"""

from __future__ import annotations

import base64
import email.policy
import email.utils
import json
import logging
import os
import smtplib
import socket
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from email.message import EmailMessage
from functools import partial
from typing import Any, Final
from urllib.parse import SplitResult

from medbay.core.delivery import Arrived, Channel, Delivery, Later, MessageFacts
from medbay.core.durations import format_duration
from medbay.core.redaction import Redaction
from medbay.errors import SpawnFailed
from medbay.integrations import telegram
from medbay.integrations.protocol import SenderMeans
from medbay.integrations.refusal import Refused
from medbay.views.message import Message, message

_ANSWER_MAX: Final = 2_000  # bytes of an answer that are read
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_NOT_FOLDED: Final = email.policy.SMTP.clone(max_line_length=400)  # a subject stays in one piece
Send = Callable[[Message, str, float], str | None]  # the message, its key, within how many seconds; where it is then


def sender(means: SenderMeans) -> UrlSender:
    """What delivers to addresses."""
    return UrlSender(means.redaction)


@dataclass(frozen=True, slots=True)
class UrlSender:
    """Sends messages to the addresses of channels."""

    redaction: Redaction

    def start(self, channel: Channel, delivery: Delivery, monotonic_s: float) -> UrlSending:
        """Begin to send."""
        url = resolved(channel)
        facts = delivery.facts or MessageFacts(now=delivery.event.at)
        text = message(delivery.event, facts, page=channel.page, channel=channel.name, host=socket.gethostname())
        send = partial(way_to(url), text, delivery.key, channel.timeout_ms / 1000)
        secrets = (url, *filter(None, _secrets(url)))
        hiding = Redaction(secrets=(*secrets, *self.redaction.secrets), patterns=self.redaction.patterns)
        return UrlSending(send, hiding, channel.timeout_ms, monotonic_s)


def resolved(channel: Channel) -> str:
    """The address of a channel, from the environment where it says so."""
    target = str(channel.target)
    if not target.startswith("$"):
        return target
    found = os.environ.get(target[1:], "").strip()
    if "://" not in found:
        what = "is not set" if not found else "is no address"
        raise SpawnFailed(f"the variable {target[1:]} {what}; export it where medbay up is started")
    return found


def _secrets(url: str) -> list[str]:
    parts = urllib.parse.urlsplit(url)
    found = [parts.password or "", urllib.parse.unquote(parts.password or ""), parts.path.strip("/"), parts.query]
    return [each for each in found if len(each) >= 6]


def way_to(url: str) -> Send:
    """What sends to this address."""
    parts = urllib.parse.urlsplit(url)
    match parts.scheme:
        case "smtp" | "smtps":
            return partial(_mail, parts)
        case "http" | "https":
            return partial(_post, url)
        case "tgram":
            return partial(telegram.send, url)
        case _:
            return partial(_apprise, url)


@dataclass(slots=True)
class UrlSending:
    """One message under way, in a thread of its own."""

    send: Callable[[], str | None]
    redaction: Redaction
    timeout_ms: int
    begun_s: float
    _ended: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        threading.Thread(target=self._run, name="medbay-send", daemon=True).start()

    def _run(self) -> None:
        try:
            place = self.send()
        except Refused as refused:
            why = self.redaction.text(str(refused))
            self._ended.append(Later.after(why, refused.wait_ms) if refused.wait_ms else why)
        except Exception as error:  # whatever a service or a library breaks on
            self._ended.append(self.redaction.text(_words(error)))
        else:
            self._ended.append(Arrived.at(place) if place else "")

    def poll(self, monotonic_s: float) -> str | None:
        """How it ended; at its time limit it is left to itself."""
        if self._ended:
            return self._ended[0]
        if monotonic_s - self.begun_s >= self.timeout_ms / 1000:
            return f"took longer than {format_duration(self.timeout_ms)}"
        return None

    def kill(self) -> None:
        """Nobody waits for it any more; its thread ends with its time limit or with this process."""


def _words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer within the time limit"
    if isinstance(error, urllib.error.URLError) and isinstance(error.reason, Exception):
        return _words(error.reason)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{type(error).__name__}: {error}"


def _post(url: str, text: Message, key: str, timeout_s: float) -> None:
    """Post a message to a webhook; any 2xx is delivered."""
    parts = urllib.parse.urlsplit(url)
    headers = {"Content-Type": "application/json", "User-Agent": "medbay", "Idempotency-Key": key}
    if parts.username is not None:
        pair = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    body = json.dumps(text.as_json(key), ensure_ascii=False).encode()
    request = urllib.request.Request(url, data=body, headers=headers, method="POST")
    opener = urllib.request.build_opener(_NoRedirect)
    try:
        with opener.open(request, timeout=timeout_s):
            return
    except urllib.error.HTTPError as error:
        with error:
            said = error.read(_ANSWER_MAX).decode("utf-8", "replace").strip()
            asked = error.headers.get("Retry-After") if error.code in (429, 503) else None
        raise Refused(f"HTTP {error.code} {error.reason}: {said}"[:500].rstrip(": "), _wait_ms(asked)) from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any) -> None:
        """Follow nothing: a message goes where the configuration says, and nowhere else."""


def _wait_ms(asked: str | None) -> int:
    """How long a service asks to be left alone: so many seconds, or until a moment."""
    if asked and asked.strip().isdigit():
        return int(asked.strip()[:9]) * 1000
    if asked:
        try:
            moment = email.utils.parsedate_to_datetime(asked)
        except ValueError:
            return 0
        return max(0, round((moment.timestamp() - time.time()) * 1000))
    return 0


def _mail(parts: SplitResult, text: Message, key: str, timeout_s: float) -> None:
    """Send a mail. A password goes over TLS, or to this machine itself."""
    options = {name: values[-1] for name, values in urllib.parse.parse_qs(parts.query).items()}
    mail = _as_mail(parts, options, text, key)
    host, secure = parts.hostname or "localhost", parts.scheme == "smtps"
    user, password = (urllib.parse.unquote(each or "") for each in (parts.username, parts.password))
    port = parts.port or (465 if secure else 587 if user else 25)
    context = ssl.create_default_context()
    smtp = (
        smtplib.SMTP_SSL(host, port, timeout=timeout_s, context=context)
        if secure
        else smtplib.SMTP(host, port, timeout=timeout_s)
    )
    with smtp:
        smtp.ehlo()
        if not secure and options.get("tls") != "no" and smtp.has_extn("starttls"):
            smtp.starttls(context=context)
            smtp.ehlo()
            secure = True
        if user:
            if not secure and host not in _LOOPBACK:
                raise Refused(f"{host} offers no TLS, and a password is not sent without it; write smtps://")
            smtp.login(user, password)
        refused = smtp.send_message(mail)
        if refused:
            raise Refused(f"refused for {', '.join(sorted(refused))}")


def _as_mail(parts: SplitResult, options: dict[str, str], text: Message, key: str) -> EmailMessage:
    mail = EmailMessage(policy=_NOT_FOLDED)
    mail["Subject"] = text.title
    user = urllib.parse.unquote(parts.username or "")
    mail["From"] = options.get("from") or (user if "@" in user else f"medbay@{socket.getfqdn()}")
    mail["To"] = options["to"]
    mail["Date"] = email.utils.localtime()
    mail["Message-ID"] = f"<{key.replace(':', '.')}@medbay>"
    mail["X-Medbay-Key"] = key
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(text.whole + "\n")
    return mail


def _apprise(url: str, text: Message, key: str, timeout_s: float) -> None:
    """Send through apprise, which knows the services people use."""
    try:
        import apprise
    except ImportError:
        raise Refused("this address needs apprise: pip install 'medbay[notify]'") from None
    service = apprise.Apprise.instantiate(url, suppress_exceptions=True)
    if service is None:
        raise Refused(f"apprise knows no address like {url.partition('://')[0]}://; see its list of services")
    service.socket_connect_timeout = service.socket_read_timeout = timeout_s
    said = _Said(logging.WARNING)
    log = logging.getLogger("apprise")
    log.addHandler(said)
    try:
        arrived = service.notify(body=text.body or text.title, title=text.title if text.body else "")
    finally:
        log.removeHandler(said)
    if not arrived:
        raise Refused(f"the service did not take it: {said.last}"[:500].rstrip(": "))


class _Said(logging.Handler):
    """Keeps the last complaint of a library in this thread."""

    last = ""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it, if it is ours."""
        if record.thread == self._thread:
            self.last = record.getMessage()

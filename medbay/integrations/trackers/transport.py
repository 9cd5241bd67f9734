"""One request to the API of a tracker and its answer: a time limit for the whole, no redirects, named errors."""

from __future__ import annotations

import email.utils
import http.client
import json
import queue
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol

from medbay.core.redaction import MARK, redact
from medbay.core.tracker.source import TrackerSource
from medbay.core.untrusted import line, parsed
from medbay.integrations.trackers.protocol import TrackerError, TrackerFault

ANSWER_MAX: Final = 20_000_000  # bytes
WAIT_MAX_S: Final = 24 * 3600.0
_SHOWN: Final = 300
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_BUDGETS: Final = ("requests", "complexity", "endpoint-requests")
_EPOCH_MS_FROM: Final = 10**11  # a number this large counts milliseconds

Query = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """What came back: names of headers in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    def json(self, asked: str) -> Any:
        """The body as JSON; raises TrackerError where it is none."""
        try:
            return parsed(self.body)
        except ValueError:
            shown = redact(line(self.body[: 4 * _SHOWN].decode("utf-8", "replace"), _SHOWN)) or "nothing"
            raise TrackerError("unreadable", f"{asked}: no JSON came back but {shown}") from None


class Transport(Protocol):
    """What carries requests to an API: HTTP, or a program that is logged in already."""

    def send(self, method: str, path: str, *, query: Query | None = None, body: Any = None) -> ApiAnswer:
        """Send one request, whatever the status of its answer; raises TrackerError where none came."""
        ...


@dataclass(frozen=True, slots=True)
class HttpTransport:
    """HTTP with the standard library. A token is sent to the configured host alone, and never in the clear."""

    base: str
    headers: Mapping[str, str] = field(repr=False)
    timeout_s: float
    secret: str = field(default="", repr=False)

    def send(self, method: str, path: str, *, query: Query | None = None, body: Any = None) -> ApiAnswer:
        """Send one request in a thread of its own: a peer that sends a byte now and then has no more time either."""
        url = f"{self.base.rstrip('/')}/{path}".rstrip("/") + (f"?{urllib.parse.urlencode(query)}" if query else "")
        data = json.dumps(body, ensure_ascii=False).encode() if body is not None else None
        headers = {"User-Agent": "medbay", "Content-Type": "application/json", **self.headers}
        request = urllib.request.Request(url, data=data, headers=headers, method=method)
        ended: queue.SimpleQueue[ApiAnswer | TrackerError] = queue.SimpleQueue()
        asked = f"{method} {path or urllib.parse.urlsplit(self.base).path}"
        threading.Thread(target=self._send, args=(request, asked, ended), name="medbay-tracker", daemon=True).start()
        try:
            found = ended.get(timeout=self.timeout_s)
        except queue.Empty:
            found = self._unreachable(asked, TimeoutError())
        if isinstance(found, TrackerError):
            raise found
        return found

    def _send(
        self, request: urllib.request.Request, asked: str, ended: queue.SimpleQueue[ApiAnswer | TrackerError]
    ) -> None:
        try:
            with urllib.request.build_opener(_NoRedirects).open(request, timeout=self.timeout_s) as got:
                ended.put(_answer(got.status, got.headers, got.read(ANSWER_MAX + 1)))
        except urllib.error.HTTPError as error:
            with error:
                try:
                    ended.put(_answer(error.code, error.headers, error.read(ANSWER_MAX + 1)))
                except (OSError, http.client.HTTPException) as cut:
                    ended.put(self._unreachable(asked, cut))
        except (OSError, http.client.HTTPException, ValueError) as error:
            ended.put(self._unreachable(asked, error))

    def _unreachable(self, asked: str, error: Exception) -> TrackerError:
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(cause, TimeoutError):
            return TrackerError("unreachable", f"{asked}: no answer after {self.timeout_s:g}s")
        said = cause.strerror if isinstance(cause, OSError) and cause.strerror else f"{type(cause).__name__}: {cause}"
        said = said.replace(self.secret, MARK) if self.secret else said
        return TrackerError("unreachable", f"{asked}: {redact(line(said, _SHOWN))}", output=said)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any) -> None:
        """Follow nothing: a token goes where the configuration says, and nowhere else."""


def token_of(source: TrackerSource, environ: Mapping[str, str]) -> str:
    """The token from the environment; empty where there is none."""
    return next((environ[name].strip() for name in source.token_names if environ.get(name, "").strip()), "")


def needed_token(source: TrackerSource, environ: Mapping[str, str]) -> str:
    """The token from the environment; raises TrackerError where there is none."""
    token = token_of(source, environ)
    if not token or not token.isascii() or not token.isprintable():
        names = " or ".join(source.token_names)
        what = "holds no token" if token else "is not set"
        hint = f"export it where medbay is started, or name another: token_env in [trackers.{source.name}]"
        raise TrackerError("unauthorized", f"{source.name}: {names} {what}", hint=hint)
    return token


def safe_url(source: TrackerSource, default: str) -> str:
    """The address of an API; raises TrackerError where a token would be sent in the clear."""
    url = source.url or default
    parts = urllib.parse.urlsplit(url)
    plain = parts.scheme == "http" and parts.hostname in _LOOPBACK
    if not parts.hostname or parts.username is not None or not (parts.scheme == "https" or plain):
        hint = f'url = "https://..." in [trackers.{source.name}]'
        raise TrackerError("refused", f"{source.name}: the address of its API has to be https", hint=hint)
    return url


def fine(answer: ApiAnswer, asked: str, *, said: str = "") -> ApiAnswer:
    """The same answer where it is a success; raises the TrackerError that its status stands for."""
    if 200 <= answer.status < 300:
        return answer
    body = answer.body[:4_000].decode("utf-8", "replace")
    words = redact(line(said or _message(answer.body) or body, _SHOWN))
    kind = _fault(answer, words)
    wait_s = wait_of(answer.headers) if kind in ("limited", "unreachable") else None
    retry = f"\nRetry-After: {round(wait_s)}" if wait_s is not None else ""
    text = f"{asked}: HTTP {answer.status}" + (f": {words}" if words else "")
    output = f"HTTP {answer.status} {http.client.responses.get(answer.status, '')}\n{redact(body)}{retry}"
    raise TrackerError(kind, text, output=output, wait_s=wait_s, hint=_HINTS.get(kind, ""))


def wait_of(headers: Mapping[str, str]) -> float | None:
    """How long an API asks to be left alone: by its own clock where it says what time it is there."""
    named = headers.get("retry-after", "").strip()
    if named.isdigit():
        return min(float(named[:9]), WAIT_MAX_S)
    at = _moment(named)
    if at is None and headers.get("x-ratelimit-remaining", "0").strip() == "0":
        at = _moment(headers.get("x-ratelimit-reset", ""))
    if at is None:  # Linear has several budgets: the one that is used up counts
        budgets = (each for each in _BUDGETS if headers.get(f"x-ratelimit-{each}-remaining", "0").strip() == "0")
        resets = (_moment(headers.get(f"x-ratelimit-{each}-reset", "")) for each in budgets)
        at = next((each for each in resets if each is not None), None)
    now = _moment(headers.get("date", "")) or time.time()
    return None if at is None else min(max(0.0, at - now), WAIT_MAX_S)


def _moment(text: str) -> float | None:
    """Seconds since the epoch: a number of them, or of milliseconds, an HTTP date, or ISO 8601."""
    text = text.strip()
    if text.isdigit():
        number = int(text[:16])
        return number / 1000 if number >= _EPOCH_MS_FROM else float(number)
    for read in (email.utils.parsedate_to_datetime, datetime.fromisoformat):
        try:
            found = read(text)
        except ValueError:
            continue
        return found.timestamp() if found.tzinfo is not None else None
    return None


_HINTS: Final[Mapping[TrackerFault, str]] = {
    "unauthorized": "the token is not accepted: is it expired, and may it see this project?",
}


def _fault(answer: ApiAnswer, words: str) -> TrackerFault:
    limited = "retry-after" in answer.headers or answer.headers.get("x-ratelimit-remaining") == "0"
    match answer.status:
        case 401 | 407:
            return "unauthorized"
        case 429:
            return "limited"
        case 403:
            return "limited" if limited or "rate limit" in words.lower() else "refused"
        case 404 | 410:
            return "not_found"
        case status if status >= 500 or status == 408:
            return "unreachable"
        case _:
            return "refused"


def _message(body: bytes) -> str:
    """What an error says: GitHub's message with its errors, Jira's messages, else nothing."""
    try:
        found = parsed(body)
    except ValueError:
        return ""
    if not isinstance(found, dict):
        return ""
    details = found.get("errors")
    named = details.items() if isinstance(details, dict) else ()
    listed = details if isinstance(details, list) else ()
    words = [str(found.get("message") or ""), *map(str, found.get("errorMessages") or ())]
    words += [f"{name}: {each}" for name, each in named]
    words += [
        str(each.get("message") or each.get("code") or "") if isinstance(each, dict) else str(each) for each in listed
    ]
    return "; ".join(filter(None, words))


def _answer(status: int, headers: Any, body: bytes) -> ApiAnswer:
    if len(body) > ANSWER_MAX:
        raise ValueError(f"the answer is larger than {ANSWER_MAX:,} bytes")
    return ApiAnswer(status, {name.lower(): value for name, value in headers.items()}, body)

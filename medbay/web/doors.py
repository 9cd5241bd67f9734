"""The doors: who may come in under which name, from where, with what. Around every request and every WebSocket.

Every request names a host that is ours. Whatever changes something comes from our own page or from no page, says
`X-Medbay: 1` and carries JSON; it never is a GET. All but the empty page, its files and `/healthz` needs a token.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final
from urllib.parse import urlsplit

from medbay.config.fields import WebConfig
from medbay.web.answers import JsonAnswer, refusal
from medbay.web.session import Sessions

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

READS: Final = ("GET", "HEAD")
BODY_MAX: Final = 2_000_000
OPEN: Final = ("/healthz",)
GUARDED: Final = ("/api/", "/metrics", "/openapi.json")
BY_THEMSELVES: Final = ("/api/session", "/api/link", "/api/link/answer")  # posted with what opens them
WILDCARDS: Final = ("0.0.0.0", "::", "")
HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self';"
        " manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


class Doors:
    """Lets a request through to the page, or says why not."""

    def __init__(self, app: App, config: WebConfig, sessions: Sessions) -> None:
        self._app = app
        self._sessions = sessions
        self._names = frozenset(each.lower() for each in config.names) | (
            frozenset() if config.host in WILDCARDS else frozenset({config.host.lower()})
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, WebSocket or start of the server."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        answer = await self._refused(scope)
        if answer is None:
            await self._app(scope, _limited(receive) if scope["type"] == "http" else receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 4000 + answer.status_code % 1000, "reason": ""})
        else:
            await answer(scope, receive, _with_headers(send))

    async def _refused(self, scope: Scope) -> JsonAnswer | None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "")
        if sum(name == b"host" for name, _ in scope["headers"]) != 1 or not self._is_ours(host):
            return refusal(421, "host", f'this is not "{host[:100]}"', "[web] names lists the names of this machine")
        changes = scope["type"] == "http" and scope["method"] not in READS
        if (changes or scope["type"] == "websocket") and not _from_us(headers.get("origin"), host):
            return refusal(403, "origin", "this came from the page of another site", "")
        if changes and headers.get("x-medbay") != "1":
            return refusal(
                403, "header", "the header X-Medbay: 1 is missing", "it says that no form of a page sent this"
            )
        if changes and not _is_json(headers):
            return refusal(415, "body", "the body has to be JSON", "Content-Type: application/json")
        if (
            changes
            and headers.get("content-length", "0").isdigit()
            and int(headers.get("content-length", "0")) > BODY_MAX
        ):
            return refusal(413, "size", "the body is too long", f"at most {BODY_MAX} bytes")
        path = scope["path"]
        if not path.startswith(GUARDED) or (path in BY_THEMSELVES and scope.get("method") == "POST"):
            return None
        return await self._unknown(scope, headers)

    async def _unknown(self, scope: Scope, headers: dict[str, str]) -> JsonAnswer | None:
        """Refuse what has no token; whose it is goes with the request."""
        client = scope.get("client")
        found = await self._sessions.whose(headers, client[0] if client else "")
        if isinstance(found, JsonAnswer):
            return found
        scope.setdefault("state", {})["person"] = found
        return None

    def _is_ours(self, host: str) -> bool:
        name = _name_of(host)
        return name is not None and (name in self._names or name == "localhost" or _is_loopback(name))


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches an address."""
    return host == "localhost" or _is_loopback(host)


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _name_of(host: str) -> str | None:
    """The name in a Host header, without its port; None where it is none."""
    if not host or any(sign in host for sign in "/@\\?# \t,"):
        return None
    try:
        parts = urlsplit(f"//{host}")
        return parts.hostname if parts.port is None or parts.port >= 0 else None
    except ValueError:
        return None


def _from_us(origin: str | None, host: str) -> bool:
    """Whether a page of ours sent it, or no page at all."""
    if origin is None:
        return True
    return origin.lower() in (f"http://{host.lower()}", f"https://{host.lower()}")


def _is_json(headers: dict[str, str]) -> bool:
    return headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


def _limited(receive: Receive) -> Receive:
    """A body of any declared length is read up to the limit and no further."""
    left = BODY_MAX

    async def counted() -> MutableMapping[str, Any]:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            return {"type": "http.disconnect"}
        return message

    return counted


def _with_headers(send: Send) -> Send:
    async def sent(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            given: Iterable[tuple[bytes, bytes]] = message.get("headers", ())
            present = {name.lower() for name, _ in given}
            own = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in present]
            if b"cache-control" not in present:
                own.append((b"cache-control", b"no-store"))
            message = {**message, "headers": [*given, *own]}
        await send(message)

    return sent

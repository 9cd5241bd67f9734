"""Who is there: tokens that are shown, cookies that stand for them, and how often a wrong one may be tried."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections import deque
from http.cookies import CookieError, SimpleCookie
from typing import Final

from medbay.env import Clock
from medbay.web.answers import JsonAnswer, refusal
from medbay.web.bays import Bays

KEPT_S: Final = 30 * 86_400
TRIES: Final = 10
WINDOW_S: Final = 60.0
CLIENTS_MAX: Final = 10_000
DIGESTS_KEPT_S: Final = 2.0  # a token that was removed opens nothing after so long


class Sessions:
    """The people who may come in. A cookie is signed with the digest of its token, so it ends with the token."""

    def __init__(self, bays: Bays, clock: Clock, port: int) -> None:
        self.cookie = f"medbay_{port}"  # cookies know no ports: two stores on one machine keep theirs apart
        self._bays = bays
        self._clock = clock
        self._failed: dict[str, deque[float]] = {}
        self._digests: dict[str, str] = {}
        self._read_s = float("-inf")

    async def whose(self, headers: dict[str, str], client: str) -> str | JsonAnswer:
        """Return whose token or cookie a request carries, or why it does not come in."""
        if (name := await self._by_cookie(headers.get("cookie", ""))) is not None:
            return name
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            return _unknown("a token is needed")
        return await self.exchange(token.strip(), client)

    async def exchange(self, token: str, client: str) -> str | JsonAnswer:
        """Return whose token this is; too many wrong ones from one place are not looked at for a while."""
        now_s = self._clock.monotonic_s()
        failed = self._failed.get(client, deque())
        while failed and failed[0] < now_s - WINDOW_S:
            failed.popleft()
        if len(failed) >= TRIES:
            said = refusal(429, "too_many", "too many wrong tokens came from there", "wait a minute")
            said.headers["retry-after"] = str(int(failed[0] + WINDOW_S - now_s) + 1)
            return said
        shown, found = hashlib.sha256(token.encode("utf-8", "replace")).hexdigest(), None
        for name, kept in (await self._known()).items():  # all of them, whichever it is: the time says nothing
            if hmac.compare_digest(shown, kept):
                found = name
        if found is None:
            failed.append(now_s)
            if len(self._failed) > CLIENTS_MAX:
                self._failed.clear()
            self._failed[client] = failed
            return _unknown("this token opens nothing")
        return found

    async def cookie_for(self, name: str) -> str:
        """Return a cookie that stands for a person's token."""
        text = f"{self._clock.now_ms() // 1000 + KEPT_S}:{name}"
        signed = f"{_signature((await self._known())[name], text)}:{text}"
        return base64.urlsafe_b64encode(signed.encode()).decode().rstrip("=")

    async def _by_cookie(self, header: str) -> str | None:
        try:
            found = SimpleCookie(header).get(self.cookie)
            raw = found.value[:600] if found is not None else ""
            text = base64.urlsafe_b64decode(raw + "=" * (-len(raw) % 4)).decode()
        except (CookieError, binascii.Error, ValueError):
            return None
        signature, _, signed = text.partition(":")
        until, _, name = signed.partition(":")
        kept = (await self._known()).get(name) if name else None
        if kept is None or not hmac.compare_digest(signature, _signature(kept, signed)):
            return None
        return name if until.isdigit() and int(until) > self._clock.now_ms() // 1000 else None

    async def _known(self) -> dict[str, str]:
        now_s = self._clock.monotonic_s()
        if now_s >= self._read_s + DIGESTS_KEPT_S:
            self._digests = await self._bays.call(lambda bay: bay.tokens.digests())
            self._read_s = now_s
        return self._digests


def _signature(digest: str, text: str) -> str:
    return hmac.new(digest.encode(), text.encode(), hashlib.sha256).hexdigest()


def _unknown(why: str) -> JsonAnswer:
    said = refusal(401, "token", why, "medbay up and medbay serve print a link with one")
    said.headers["www-authenticate"] = 'Bearer realm="medbay"'
    return said

"""Links that answer one question: signed, for some days, and used up when the question is closed.

A link says which question it opens and through which channel it was sent. Whoever holds it may answer that question
and nothing else; opening it changes nothing.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

from medbay.errors import NotAllowed, NotFound

VALID_MS: Final = 7 * 24 * 3_600_000  # a question without an answer is sent again every day, with a new link
LINK_MAX: Final = 600  # characters
_SIGNATURE_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class AnswerLink:
    """What a link stands for."""

    question_id: str
    channel: str
    until: int

    @property
    def actor(self) -> str:
        """Return in whose name it answers: only the readers of the channel have it."""
        return f"person:{self.channel} link"


def sign(link: AnswerLink, key: str) -> str:
    """Return the link as text for an address: what it says, and its signature."""
    said = _encoded(f"{link.until // 1000}:{link.channel}:{link.question_id}".encode())
    return f"{said}.{_signature(said, key)}"


def read(text: str, key: str, now: int) -> AnswerLink:
    """Return what a link stands for; raises NotFound where it is not ours, NotAllowed where it is too old."""
    said, _, signature = text[:LINK_MAX].partition(".")
    if not key or not hmac.compare_digest(signature.encode(), _signature(said, key).encode()):
        raise NotFound("this link opens nothing", hint="copy it whole, or open the inbox of the page")
    until_s, channel, question_id = _decoded(said).split(":", 2)
    if int(until_s) * 1000 <= now:
        raise NotAllowed("this link is too old", hint="the newest message about the question has one that works")
    return AnswerLink(question_id, channel, int(until_s) * 1000)


def _signature(said: str, key: str) -> str:
    return _encoded(hmac.new(key.encode(), said.encode(), hashlib.sha256).digest()[:_SIGNATURE_BYTES])


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _decoded(text: str) -> str:
    """What we signed; the padding is left out of addresses."""
    return binascii.a2b_base64(text.translate(_STANDARD) + "=" * (-len(text) % 4)).decode()


_STANDARD: Final = str.maketrans("-_", "+/")

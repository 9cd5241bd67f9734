"""Whether the judge that is configured could be asked: its extra, its key, and a connection to its provider."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from medbay.integrations.judges.program import missing_extra

CONNECT_S: Final = 3.0
PROVIDERS: Final = {  # the variables of a key and of an address, and the address without one
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com"),
    "openai-chat": ("OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com"),
}
PROXIES: Final = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReach:
    """What was found about a judge; with a `fix` it cannot be asked, or perhaps not."""

    said: str
    fix: str = ""
    certain: bool = True


def check(agent: str, model: str, environ: Mapping[str, str] | None = None) -> JudgeReach:
    """Whether `model` or `claude` could be asked; nothing is sent to its provider."""
    environ = os.environ if environ is None else environ
    name = f"{agent} ({model})" if model else agent
    if extra := missing_extra(agent):
        return JudgeReach(said=f"{name} is not installed", fix=f"pip install 'medbay[{extra}]'")
    provider = "anthropic" if agent == "claude" else model.partition(":")[0]
    if provider not in PROVIDERS:
        return JudgeReach(said=f"{name}: nothing is known of its provider, it was not tried")
    key, variable, usual = PROVIDERS[provider]
    if agent == "model" and not environ.get(key):
        return JudgeReach(said=f"{name} has no key: {key} is not set", fix=f"set {key} where medbay up runs")
    address = environ.get(variable) or usual
    if any(environ.get(each) for each in PROXIES):
        return JudgeReach(said=f"{name} at {_host(address)[0]}, through a proxy: it was not tried")
    if wrong := _unreachable(address):
        fix = f"check the network, or {variable}; a triage waits until it is back"
        return JudgeReach(said=f"{name} cannot be reached: {wrong}", fix=fix, certain=False)
    return JudgeReach(said=f"{name} at {_host(address)[0]} can be reached")


def _host(address: str) -> tuple[str, int]:
    parts = urlsplit(address)
    return parts.hostname or address, parts.port or (80 if parts.scheme == "http" else 443)


def _unreachable(address: str) -> str:
    """Why no connection can be made; empty when it can."""
    try:
        host, port = _host(address)
        socket.create_connection((host, port), CONNECT_S).close()
    except (OSError, ValueError) as error:
        return f"{address}: {getattr(error, 'strerror', None) or error}"
    return ""

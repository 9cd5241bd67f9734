"""Whose limit or service it is, where the text or the runner says so."""

from __future__ import annotations

import re
from typing import Final

from medbay.core.diagnosis.compiled import compiled

_WORDS: Final = (
    ("anthropic", r"anthropic|\bclaude\b"),
    ("azure", r"\bazure\b|windows\.net"),
    ("openrouter", r"openrouter"),
    ("openai", r"openai|\bcodex\b|\bgpt-\d|chatgpt"),
    ("google", r"\bgemini\b|generativelanguage|googleapis|vertex ?ai|\bgcloud\b"),
    ("github", r"github|\bghcr\.io"),
    ("gitlab", r"gitlab"),
    ("aws", r"amazonaws|\baws\b|\bboto(?:core|3)|bedrock|when calling the \w{3,60} operation"),
    ("docker", r"docker\.(?:io|com)|docker hub|toomanyrequests: you have reached"),
    ("npm", r"registry\.npmjs|\bnpm (?:err!|error)"),
    ("pypi", r"pypi\.org|pythonhosted"),
    ("rubygems", r"rubygems\.org"),
    ("crates", r"crates\.io"),
    ("maven", r"repo\.maven|repo1\.maven"),
    ("huggingface", r"huggingface|\bhf\.co"),
    ("mistral", r"mistral"),
    ("groq", r"\bgroq"),
    ("xai", r"\bxai\b|api\.x\.ai|\bgrok\b"),
    ("cohere", r"\bcohere"),
    ("deepseek", r"deepseek"),
    ("together", r"together\.(?:ai|xyz)"),
    ("fireworks", r"fireworks\.(?:ai|client)"),
    ("perplexity", r"perplexity"),
    ("cerebras", r"cerebras"),
    ("slack", r"slack(?:\.com|_sdk|api)"),
    ("discord", r"discord(?:\.|app|py)"),
    ("telegram", r"telegram"),
    ("cloudflare", r"cloudflare"),
)
# With each the letters that a match begins with: a plain search for those is far cheaper.
PROVIDERS: Final = tuple(
    (name, tuple(re.findall(r"(?:^|\|)(?:\\b)?([a-z]{2,})", words)), words) for name, words in _WORDS
)
_CONCERNED: Final = frozenset(
    {"rate_limit", "usage_limit", "overloaded", "service", "network", "quota", "auth", "context_window"}
)


def provider_of(subcategory: str | None, line: str, runner: str | None, body: str) -> str | None:
    """The provider named by the deciding line, else by the runner, else by the end of the text."""
    if subcategory not in _CONCERNED:
        return None
    for text in (line, runner or "", body[-4_000:] if subcategory != "network" else ""):
        low = text.lower()
        for name, stems, words in PROVIDERS:
            if any(stem in low for stem in stems) and compiled(words).search(low):
                return name
    return None

"""Secrets are taken out of whatever leaves a log. Rules as data; each runs only where its literal stands in the text.

What is kept is enough to recognise what was there: the name of a variable, the kind of a token.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MARK: Final = "[redacted]"


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret: the literals of which one has to be there (lower case), what it looks like, what is kept."""

    name: str
    literals: tuple[str, ...]
    pattern: re.Pattern[str]
    keep: str = MARK  # with the groups that stay


def _rule(name: str, literals: Sequence[str], pattern: str, keep: str = MARK) -> Rule:
    return Rule(name, tuple(literals), re.compile(pattern), keep)


# What comes before the word in a name stays as it is; looking back for it would cost more than all the rest.
_NAMES: Final = (
    r"(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)"
    r"[A-Za-z0-9_.-]{0,40}"
)

RULES: Final = (
    _rule(
        "private key",
        ("private key-----",),
        r"(-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----)[^-]{1,20000}(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?",
        rf"\1{MARK}",
    ),
    _rule("jwt", ("eyj",), r"\beyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{0,2000}"),
    _rule("aws key", ("akia", "asia"), r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    _rule("github", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"\bgh[pousr]_[A-Za-z0-9]{20,255}"),
    _rule("github", ("github_pat_",), r"\bgithub_pat_[A-Za-z0-9_]{20,255}"),
    _rule("gitlab", ("glpat-",), r"\bglpat-[A-Za-z0-9_-]{16,100}"),
    _rule(
        "slack", ("xox", "hooks.slack.com"), r"\bxox[abeoprs]-[A-Za-z0-9-]{10,250}|(?<=services/)T[A-Za-z0-9/]{20,100}"
    ),
    _rule("model provider", ("sk-",), r"\bsk-[A-Za-z0-9_-]{16,250}"),
    _rule("stripe", ("_live_", "_test_"), r"\b[srp]k_(?:live|test)_[A-Za-z0-9]{10,250}"),
    _rule("google", ("aiza",), r"\bAIza[0-9A-Za-z_-]{35}"),
    _rule("npm", ("npm_",), r"\bnpm_[A-Za-z0-9]{36}\b"),
    _rule("pypi", ("pypi-",), r"\bpypi-[A-Za-z0-9_-]{40,250}"),
    _rule("hugging face", ("hf_",), r"\bhf_[A-Za-z0-9]{30,60}\b"),
    _rule(
        "authorization header",
        ("authorization", "x-api-key", "cookie"),
        r"(?i)\b((?:proxy-)?authorization|x-api-key|(?:set-)?cookie)(\"?\s{0,3}[:=]\s{0,3}\"?)"
        r"((?:bearer|basic|token|digest)\s{1,3})?[^\s\"',][^\r\n\"']{0,4000}",
        rf"\1\2\3{MARK}",
    ),
    _rule("bearer", ("bearer ",), r"(?i)\b(bearer\s{1,3})[A-Za-z0-9._~+/=-]{12,4000}", rf"\1{MARK}"),
    _rule(
        "password in a url",
        ("://",),
        r"([a-z][a-z0-9+.-]{0,30}://[^\s/:@\"']{0,200}):[^\s/@\"']{1,500}@",
        rf"\1:{MARK}@",
    ),
    _rule(
        "named value",
        ("passw", "secret", "token", "key", "credential", "passphrase"),
        rf"(?i)({_NAMES})(\"?'?\s{{0,3}}[=:]\s{{0,3}})(\"[^\"\r\n]{{4,4000}}\"|'[^'\r\n]{{4,4000}}'"
        r"|(?=[^\s\"'&,;(){}\[\]<>]{0,400}[0-9])[^\s\"'&,;(){}\[\]<>]{6,4000}"
        r"|(?<==)[^\s\"'&,;(){}\[\]<>]{6,4000})",
        rf"\1\2{MARK}",
    ),
    _rule(
        "option",
        ("--password", "--token", "--secret", "--api-key"),
        r"(--(?:password|token|secret|api-key)[ =])[^\s\"']{3,4000}",
        rf"\1{MARK}",
    ),
)
_LITERALS: Final = tuple(dict.fromkeys(literal for rule in RULES for literal in rule.literals))


def redact(text: str) -> str:
    """The text without what looks like a secret; itself where nothing does."""
    lowered = text.lower()
    there = {literal for literal in _LITERALS if literal in lowered}
    if not there:
        return text
    for rule in RULES:
        if not there.isdisjoint(rule.literals):
            text = rule.pattern.sub(rule.keep, text)
    return text

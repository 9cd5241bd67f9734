"""Secrets are taken out of whatever leaves a log. Rules as data, each found by the letters it begins with.

What is kept is enough to recognise what was there: the name of a variable, the kind of header, the user of a URL.
Lines stay lines, JSON stays JSON, and the time it takes grows with the length of the text alone.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, Final

MARK: Final = "[redacted]"
SECRET_MIN: Final = 8  # characters of a value that is taken out wherever it stands
PATTERN_MAX: Final = 200  # characters of a configured pattern
_CUT_MIN: Final = 16
_PASSES_MAX: Final = 8
_HELD_MAX: Final = 65_536


@dataclass(frozen=True, slots=True)
class SecretRule:
    """One kind of secret and what it looks like; what goes is the group that matched, or all of it.

    Every pattern begins with letters of its own, which is what makes looking for it fast, and no repetition gives
    back what it took, so that it cannot become slow. A rule that ignores case sees its text in lower case.
    """

    name: str
    pattern: str  # compiled when the letters are first seen: most runs never see any of them
    any_case: bool = False
    letters: str = ""  # in lower case: a text without them has none of its kind


_BREAKS: Final = "\\r\\n\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029"
# White space is written out, which is looked up faster than as a class of its own.
_SPACE: Final = "\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"
_BARE: Final = rf"[^{_SPACE}\"'&,;(){{}}\[\]<>\\]"
# Not a secret: a variable that is named instead, a call, a word that says how it was.
_NOT_ONE: Final = (
    r"(?!\$[{(a-z_]|%[(s{]|\*{3}|(?:self|os|env|process|settings|config|cfg|args|options|this)\.[a-z_]"
    r"|(?:none|null|nil|true|false|undefined|required|invalid|incorrect|missing|expired|wrong|denied|rejected|empty"
    r"|unset|unknown|redacted|failed|not|must|is)(?![a-z0-9_]))"
)
# What may follow the word in the name of a secret, and what makes it the name of something else.
_REST: Final = (
    r"[a-z0-9_.-]{0,40}+(?=(?:\\{0,3}[\"'])?\s{0,3}(?:[=:]|=>))"
    r"(?<!name|file|path|type|size|_url|_uri|_age)(?<!count|limit)(?<!length|tokens|expiry|policy)"
    r"(?<!expires|manager)(?<!ttl)"
)
_GIVEN: Final = r"(?:\\{0,3}[\"'])?\s{0,3}(?:=>?|:)\s{0,3}"
_QUOTED: Final = (
    rf"\"(?=(?:[^\"\\{_BREAKS}]|\\[^{_BREAKS}]){{4}})([^\"\\{_BREAKS}]*+(?:\\[^{_BREAKS}][^\"\\{_BREAKS}]*+)*+)\""
    rf"|'(?=(?:[^'\\{_BREAKS}]|\\[^{_BREAKS}]){{4}})([^'\\{_BREAKS}]*+(?:\\[^{_BREAKS}][^'\\{_BREAKS}]*+)*+)'"
    rf"|\\{{1,3}}[\"']([^\"'\\{_BREAKS}]{{4,4000}}+)(?=\\{{1,3}}[\"'])"
)
# After `=` anything that is long enough; after a space or a colon it has to have a digit, as prose seldom has.
_UNQUOTED: Final = (
    rf"(?<==)({_BARE}{{6,4000}}+)(?![(\[])"
    rf"|(?={_BARE}{{6}})({_BARE[:-1]}0-9]{{0,30}}+[0-9]{_BARE}{{0,4000}}+)(?![(\[])"
)
_ALONE: Final = rf"|({_BARE}{{4,40}}+)(?=[^\S\r\n]{{0,8}}(?:[\r\n]|\Z))"  # the only word up to the end of its line
_NUMBER: Final = r"(?![0-9.]{1,20}+(?![^\s\"'&,;(){}\[\]<>\\]))"


def _letters(begin: str) -> str:
    """The plain letters that a pattern begins with."""
    plain = re.match(r"[A-Za-z_-]*", begin.partition("[")[0].partition("(")[0])
    return plain.group().lower() if plain else ""


def _token(name: str, begin: str, rest: str) -> SecretRule:
    """A word that begins so; also where a line break before it is written as \\n."""
    pattern = rf"{begin}(?:(?<![A-Za-z0-9]{begin})|(?<=\\[nrt]{begin})){rest}"
    return SecretRule(name, pattern, letters=_letters(begin))


def _named(word: str, *, more: str = "", less: str = "") -> SecretRule:
    """A value with a name that says what it is; `more` adds to how it may look, `less` takes away."""
    pattern = f"{word}{_REST}{_GIVEN}{_NOT_ONE}{less}(?:{_QUOTED}|{_UNQUOTED}{more})"
    return SecretRule("named value", pattern, any_case=True, letters=_letters(word))


def _header(name: str) -> SecretRule:
    pattern = (
        rf"{name}(?:\\{{0,3}}[\"'])?\s{{0,3}}[:=]\s{{0,3}}(?:\\{{0,3}}[\"'])?(?:(?:bearer|basic|token|digest)\s{{1,3}})?+"
        rf"{_NOT_ONE}([^\s\"',\\\[][^\"'\\{_BREAKS}]{{5,4000}}+)"
    )
    return SecretRule("header", pattern, any_case=True, letters=name)


def _short_option(program: str) -> SecretRule:
    """A password right behind `-p`, among the words of one command."""
    words = r"(?:[^\S\n][^\s|;&]{0,200}+){0,20}?[^\S\n]"
    return SecretRule("short option", rf"{program}[a-z-]{{0,20}}+{words}-p[\"']?({_BARE}{{3,400}}+)", letters=program)


_KEYS: Final = (
    "apikey",
    "api[_-]key",
    "access[_-]key",
    "accesskey",
    "private[_-]key",
    "secret[_-]key",
    "auth[_-]key",
    "account[_-]key",
    "signing[_-]key",
    "encryption[_-]key",
)

RULES: Final = (
    _token("jwt", "eyJ", r"[A-Za-z0-9_-]{8,4000}+\.[A-Za-z0-9_-]{8,8000}+(?:\.[A-Za-z0-9_-]{0,2000}+)?"),
    *(_token("aws key", begin, r"[0-9A-Z]{16}(?![0-9A-Za-z])") for begin in ("AKIA", "ASIA")),
    _token("github", "gh[pousr]_", r"[A-Za-z0-9]{20,255}+"),
    _token("github", "github_pat_", r"[A-Za-z0-9_]{20,255}+"),
    _token("gitlab", "glpat-", r"[A-Za-z0-9_-]{16,100}+"),
    _token("slack", "xox[abeoprs]-", r"[A-Za-z0-9-]{10,250}+"),
    SecretRule("slack hook", r"hooks\.slack\.com/services/(T[A-Za-z0-9/]{20,100}+)", letters="hooks.slack"),
    SecretRule("telegram", r"api\.telegram\.org/bot([0-9]{5,15}:[A-Za-z0-9_-]{20,60}+)", letters="api.tele"),
    _token("model provider", "sk-", r"[A-Za-z0-9_-]{16,250}+"),
    *(_token("stripe", begin, r"[A-Za-z0-9]{10,250}+") for begin in ("sk_live_", "rk_live_")),
    _token("google", "AIza", r"[0-9A-Za-z_-]{35}"),
    _token("npm", "npm_", r"[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    _token("pypi", "pypi-", r"[A-Za-z0-9_-]{40,250}+"),
    _token("hugging face", "hf_", r"[A-Za-z0-9]{30,60}+"),
    _header("authorization"),
    _header("cookie"),
    SecretRule("bearer", r"bearer {1,3}([a-z0-9._~+/=-]{12,4000}+)", any_case=True, letters="bearer "),
    SecretRule(
        "password in a url",
        r"://[^\s/:@\"'\\<>]{0,200}+:(?!\[redacted\]@)([^\s/@\"'\\<>]{1,500}+)(?=@)",
        letters="://",
    ),
    _named(r"passw(?:or)?d", more=_ALONE),
    _named("passphrase", more=_ALONE),
    _named("secret", more=_ALONE),
    _named("token(?!s)", less=_NUMBER),
    _named("credential"),
    _named("key(?:" + "|".join(rf"(?<={each})" for each in _KEYS) + ")"),
    *map(_short_option, ("mysql", "mariadb", "sshpass")),
    SecretRule(
        "option",
        rf"--(?:password|token|secret|api-key) {{1,3}}(?!-)({_BARE}{{3,4000}}+)",
        any_case=True,
        letters="--",
    ),
)
# What a terminal does not show: escape sequences, and characters without a width or a mark of their own.
_HIDING: Final = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]{0,60}[ -/]{0,4}[@-~]"
    "|\x1b[\\]PX^_][^\x07\x1b" + _BREAKS + "]{0,500}(?:\x07|\x1b\\\\)?|\x1b[ -/]{0,4}[0-~]?"
    "|[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)
# A line as long as a terminal is wide, cut inside of a word, and what the next line begins with.
_WRAPPED: Final = re.compile(
    r"(?m)^(?P<line>[^\n]{39,400}[A-Za-z0-9_+/=.-])(?P<cut>\r?\n)(?=(?P<next>[A-Za-z0-9_+/=.-]{2,400}))"
)
_LETTERS: Final = re.compile("|".join(sorted({re.escape(rule.letters) for rule in RULES})))
_BEGIN: Final = re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----")
_BLOCK_MAX: Final = 20_000
_BLOCK_LINES: Final = re.compile(r"(?:(?:\s|\\[nr])*+[A-Za-z0-9+/=]{16,}+)*+")
_SECRET_NAMES: Final = re.compile(r"(?i)passw|secret|token|api_?key|credential|private_?key|access_?key|passphrase")
_TOKEN_LETTERS: Final = string.ascii_letters + string.digits + "_+/=.-"


@cache  # of the rules alone
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern of a rule, ready to search with."""
    return re.compile(pattern)


def redact(text: str) -> str:
    """The text without what looks like a secret; itself where nothing does."""
    return _also_hidden(text, _redact) if _HIDING.search(text) else _unwrapped(text, _redact)


def bare(text: str) -> str:
    """The text as a reader sees it: without escape sequences and characters of no width."""
    return _HIDING.sub("", text) if _HIDING.search(text) else text


def _also_hidden(text: str, taken_out: Callable[[str], str], secrets: tuple[str, ...] = ()) -> str:
    """The text without secrets, also those that colours or invisible characters take apart: then it goes bare."""
    shown = _unwrapped(text, taken_out, secrets)
    safe = _unwrapped(bare(text), taken_out, secrets)
    return shown if bare(shown) == safe else safe


def _unwrapped(text: str, taken_out: Callable[[str], str], secrets: tuple[str, ...] = ()) -> str:
    """The text without secrets, also those that a terminal wrapped over two lines, each of which keeps its part."""
    if "\n" not in text:
        return taken_out(text)
    parts: list[str] = []
    after = 0
    for found in _WRAPPED.finditer(text):
        line, following = found["line"], found["next"]
        known = secrets and any(secret in line + following for secret in secrets)
        if found.start() >= after and (known or _LETTERS.search(_lowered(line))):
            pair = _pair(line, following, taken_out)
            if pair is not None:
                parts += (text[after : found.start()], pair[0], found["cut"], pair[1])
                after = found.end("next")
    return taken_out("".join((*parts, text[after:])) if parts else text)


def _pair(line: str, following: str, taken_out: Callable[[str], str]) -> tuple[str, str] | None:
    """Two lines without the secret that goes on from one to the other; None where none does."""
    whole = line + following
    safe = taken_out(whole)
    if safe == taken_out(line) + taken_out(following):
        return None
    same = _alike(whole, safe)
    kept = min(_alike(whole[::-1], safe[::-1]), len(whole) - same)
    end = len(whole) - kept
    if not same < len(line) < end:
        return None
    return line[:same] + MARK, MARK + following[end - len(line) :]


def _alike(one: str, other: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def _redact(text: str) -> str:
    if "PRIVATE KEY-----" in text:
        text = _without_blocks(text)
    for _ in range(_PASSES_MAX):
        left = _once(text)
        if left == text:
            break
        text = left  # a word that began inside of another secret can be one of its own
    return text


@dataclass(frozen=True, slots=True)
class Redaction:
    """What is taken out in one place: what looks like a secret, and what is known to be one here."""

    secrets: tuple[str, ...] = ()  # taken out wherever they stand
    patterns: tuple[re.Pattern[str], ...] = ()  # a person's own

    def knowing(self, env: Mapping[str, str]) -> Redaction:
        """The same, and the values of these variables whose names say that they are secret."""
        found = secrets_of(env) if env else ()
        return replace(self, secrets=(*found, *self.secrets)) if found else self

    def text(self, text: str) -> str:
        """The text without secrets."""
        if not text:
            return text
        look = _also_hidden if _HIDING.search(text) else _unwrapped
        return look(text, self._taken_out, self.secrets)

    def _taken_out(self, text: str) -> str:
        for secret in self.secrets:
            if secret in text:
                text = text.replace(secret, MARK)
        for pattern in self.patterns:
            text = pattern.sub(lambda found: _as_lines(found.group()), text)
        return _redact(text)

    def data(self, value: Any) -> Any:
        """Data with every text in it redacted; a text under a name that says it is a secret goes as a whole."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {
                key: MARK if isinstance(each, str) and is_secret_name(str(key)) else self.data(each)
                for key, each in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.data(each) for each in value]
        return value

    def ends(self, head: str, tail: str) -> tuple[str, str]:
        """The ends of a long log; what was cut in half where they meet may be half of a secret."""
        if head:
            whole, rest = head.rstrip(_TOKEN_LETTERS), tail.lstrip(_TOKEN_LETTERS)
            head = whole + _half(head[len(whole) :])
            tail = _half(tail[: len(tail) - len(rest)]) + rest
        return self.text(head), self.text(tail)


@lru_cache(maxsize=1024)  # the same few names come again and again
def is_secret_name(name: str) -> bool:
    """Whether a variable of this name holds a secret."""
    return _SECRET_NAMES.search(name) is not None


def secrets_of(env: Mapping[str, str]) -> tuple[str, ...]:
    """The values of variables whose names say that they are secret, longest first."""
    found = {value for name, value in env.items() if len(value) >= SECRET_MIN and is_secret_name(name)}
    return tuple(sorted(found, key=lambda value: (-len(value), value)))


def own_pattern(written: str) -> re.Pattern[str]:
    """A person's own pattern. Raises ValueError for one that cannot be used, or could take for ever."""
    if len(written) > PATTERN_MAX:
        raise ValueError(f"is longer than {PATTERN_MAX} characters")
    try:
        pattern = re.compile(written)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is no regular expression: {error}") from None
    if pattern.match(""):
        raise ValueError("matches nothing at all, so it would match everywhere")
    if _NESTED.search(re.sub(r"\\.", "_", written)):
        raise ValueError("repeats a repetition, which can take for ever")
    return pattern


_NESTED: Final = re.compile(r"[*+}][^()]*\)[*+{]|\)[^()]*\)[*+{]")


class Redactor:
    """Redacts a log as it comes: what may be half of a secret waits for its rest."""

    def __init__(self, redaction: Redaction = Redaction()) -> None:
        self._redaction = redaction
        self._held = ""

    def feed(self, text: str, *, final: bool = False) -> str:
        """What can be shown by now; `final` gives out all."""
        text = self._held + text
        cut = len(text) if final or len(text) > _HELD_MAX else self._safe_cut(text)
        self._held = text[cut:]
        return self._redaction.text(text[:cut])

    @staticmethod
    def _safe_cut(text: str) -> int:
        """After the last whole line, and not inside of a key."""
        cut = max(text.rfind("\n"), text.rfind("\r")) + 1
        begun = text.rfind("-----BEGIN", 0, cut)
        return begun if begun >= 0 and text.find("-----END", begun, cut) < 0 else cut


def _once(text: str) -> str:
    lowered = _lowered(text)
    for rule in RULES:
        if rule.letters not in lowered:
            continue
        found = compiled(rule.pattern).finditer(lowered if rule.any_case else text)
        spans = [each.span(each.lastindex or 0) for each in found]
        if spans:
            text = _spliced(text, spans)
            lowered = _lowered(text)
    return text


def _lowered(text: str) -> str:
    """In lower case and of the same length: there is one character that would become two."""
    return text.lower() if text.isascii() else text.replace("\u0130", "i").lower()


def _spliced(text: str, spans: Iterable[tuple[int, int]]) -> str:
    parts: list[str] = []
    after = 0
    for begin, end in spans:
        parts += (text[after:begin], MARK)
        after = end
    parts.append(text[after:])
    return "".join(parts)


def _without_blocks(text: str) -> str:
    """Keys in their armour: the lines between go, whether or not the end is there, and stay lines."""
    parts: list[str] = []
    after = end = 0
    for found in _BEGIN.finditer(text):
        begin = found.end()
        if begin < after:
            continue
        if 0 <= end < begin:
            end = text.find("-----END ", begin)
        if not 0 <= end - begin <= _BLOCK_MAX:
            lines = _BLOCK_LINES.match(text, begin)
            assert lines is not None
            stop = lines.end()
        else:
            stop = end
        parts += (text[after:begin], _as_lines(text[begin:stop]))
        after = stop
    parts.append(text[after:])
    return "".join(parts)


def _as_lines(body: str) -> str:
    return "".join(MARK + line[len(line.rstrip()) :] if line.strip() else line for line in body.splitlines(True))


def _half(word: str) -> str:
    """Half of a token has letters and digits; half of a path or of a ruler has not."""
    mixed = len(word) >= _CUT_MIN and not word.isalpha() and any(map(str.isdigit, word))
    return MARK if mixed and any(map(str.isalpha, word)) else word

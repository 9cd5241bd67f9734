"""A short name that is equal for the same failure and differs between failures."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import Final

from medbay.core.diagnosis.rule import compiled

TREE_DEPTH: Final = 6  # leading words of a template that tell unknown failures apart, in the manner of Drain
NAMES_MAX: Final = 8

_KEPT: Final = str.maketrans("0123456789.", "qwertyuiopx")  # numbers that name something are written in letters
_TO_ZEROS: Final = str.maketrans("123456789", "000000000")
# With each one of the texts without which it has nothing to mask, where digits are zeros.
_MASKS: Final = (
    (("-",), r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b", "<uuid>"),
    (("0-00-00",), r"\d{4}-\d\d-\d\d[T _]\d\d[:_]\d\d(?:[:_]\d\d)?(?:[.,_]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?", "<time>"),
    # The zone stays where the stamp at the start of a line was dropped.
    (
        ("utc ", "gmt ", "st ", "dt ", "et ", "msk "),
        r"(?:^|(?<=<time> ))(?:UTC|GMT|[ECMP][SD]T|CES?T|EES?T|WES?T|BST|IST|JST|KST|MSK|AE[SD]T) ",
        "",
    ),
    ((" 0000",), r"\b\w{3},? \d{1,2} \w{3} \d{4}\b", "<time>"),
    (("file:///",), "file://(?=/)", ""),
    # What is named as a directory says where it ran, not what failed.
    (
        ("/", "\\"),
        r"(?i)(\b(?:in|inside|within|at|under|from|directory|dir|folder|project|repository|workspace|cwd|path)\b"
        r":? ?['\"`(]?)"
        r"(?:[A-Za-z]:)?[/\\](?:[\w.@+~-]{1,100}[/\\]){0,30}[\w@+~-]{0,100}(?=['\"`),;:]{0,2}(?:\s|$)|\.(?:\s|$))",
        r"\1<dir>",
    ),
    # Directories; the file name stays.
    (("/", "\\"), r"(?:[A-Za-z]:)?(?<![\w.:/\\])[/\\](?:[\w.@+~-]{1,100}[/\\]){1,30}", ""),
    (("0x",), r"\b0x[0-9a-fA-F]{2,16}\b", "<hex>"),
    (("req_",), r"\breq_\w{6,60}\b", "<id>"),
    (("0",), r"\b(?=[0-9a-fA-F]{0,40}[0-9])(?=[0-9a-fA-F]{0,40}[a-fA-F])[0-9a-fA-F]{7,64}\b", "<hex>"),
)
_ADDRESS: Final = r"\b(\d{1,3}(?:\.\d{1,3}){3})(?::\d{1,5})?\b"
_QUOTATION: Final = r"'[^'\n]{1,200}'|\"[^\"\n]{1,200}\"|`[^`\n]{1,200}`|\([^()\n]{1,200}\)"
_CODE_WORDS: Final = ("http", "status", "code", "err", "signal", "exit")
_CODE: Final = (
    r"(?i)\b((?:http|status|code|errno|error|signal|exit)(?:[ _]?(?:code|status))?\W{0,3})(\d{1,5})\b(?![.:]\d)"
)
_NUMBER: Final = r"(?<![A-Za-z<\d])\d+(?:[.,:]\d+)*"

# One of them stands in every line that names a failing test.
_TEST_SIGNS: Final = (
    "::", "FAIL", "✕", "✗", "✘", "×", "●", "❯", "not ok ", "ERROR: ", "Failed test '", "rspec ", ") ",
    "TEST-UNEXPECTED-",
)  # fmt: skip
_TESTS: Final = (
    r"^\s{0,8}(?:FAILED|ERROR) (\S{1,200}::\S{1,200})"
    r"|^\s{0,12}--- FAIL: (\S{1,200})"
    r"|^\s{0,12}(?:✕|✗|✘|×|●|❯) (.{1,120}?)(?: \(?\d+(?:\.\d+)? ?m?s\)?)?$"
    r"|^\s{0,8}not ok \d+ -? ?(.{1,120})$"
    r"|^\s{0,4}(?:FAIL|ERROR): (\S{1,120})"
    r"|^#\s{1,4}Failed test '(.{1,120}?)'"
    r"|^rspec \S{1,120} # (.{1,160})$"
    r"|^\[\s{1,3}FAILED\s{1,3}\] (\S{1,120})"
    r"|^test (\S{1,160}) \.\.\. FAILED"
    r"|^(.{1,120} > .{1,120}) FAILED$"
    r"|^\s{1,4}\d{1,3}\) (.{1,120})$"
    r"|^.{0,120}TEST-UNEXPECTED-\w+ \| (\S{1,160})"
)


def fingerprint(category: str, parts: Iterable[str]) -> str:
    """`category:` and eight hex digits over the masked parts."""
    key = "\n".join((category, *map(mask, parts)))
    return f"{category}:{hashlib.blake2b(key.encode('utf-8', 'replace'), digest_size=4).hexdigest()}"


def mask(line: str) -> str:
    """The line without what differs between runs: times, ids, counts, ports, directories."""
    if line.isalpha() or not line:
        return line
    plain, zeros = line.isascii(), line.lower().translate(_TO_ZEROS)  # other scripts have digits and cases of their own
    for texts, pattern, by in _MASKS:
        if not plain or any(map(zeros.__contains__, texts)):
            line = compiled(pattern).sub(by, line)
    if plain and "0" not in zeros:
        return " ".join(line.split())
    line = compiled(_ADDRESS).sub(lambda match: match[1].translate(_KEPT), line)
    if not plain or any(map(zeros.__contains__, _CODE_WORDS)):
        line = compiled(_CODE).sub(lambda match: match[1] + match[2].translate(_KEPT), line)
    return " ".join(compiled(_NUMBER).sub("<n>", line).split())


def failing_line(lines: list[str], body: str) -> str:
    """The first line that names a failing test, or nothing."""
    return next((match.string.strip() for match in _tests_named(lines, body)), "")


def failing_tests(lines: list[str], body: str) -> tuple[str, ...]:
    """The names of the tests that failed, sorted, each once."""
    matches = _tests_named(lines, body)
    names = {next(name for name in match.groups() if name).strip() for match in matches}
    return tuple(sorted(names)[:NAMES_MAX])


def _tests_named(lines: list[str], body: str) -> Iterator[re.Match[str]]:
    signs = [sign for sign in _TEST_SIGNS if sign in body]
    may_name = (line for line in lines if any(map(line.__contains__, signs)))
    return filter(None, map(compiled(_TESTS).match, may_name))


def template(line: str) -> str:
    """The path of a line through a tree of fixed depth: how many words, then the first few, variables masked."""
    words = mask(line).split()
    masked = ("<*>" if "<" in word or any(char.isdigit() for char in word) else word for word in words[:TREE_DEPTH])
    return f"{len(words)} {' '.join(masked)}"


def wording(line: str) -> str:
    """Return how a line puts it: its words, with whatever is quoted, a path, a name or a number left out."""
    masked = compiled(_QUOTATION).sub("<*>", mask(line))
    return " ".join(word if word.rstrip(":,.;!").isalpha() else "<*>" for word in masked.split())

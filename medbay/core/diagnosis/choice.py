"""Which finding decides, and how sure it is: a named cause before what follows from it, in any order of the lines."""

from __future__ import annotations

from typing import Final

from medbay.core.diagnosis.consequences import consequence_of
from medbay.core.diagnosis.findings import SETUP, Finding
from medbay.core.diagnosis.gist import gist_of
from medbay.core.diagnosis.limits import NAMES_A_TIME
from medbay.core.diagnosis.roles import WARNED
from medbay.core.diagnosis.rule import EXACT, SHAPE, compiled
from medbay.core.diagnosis.table import TABLE
from medbay.core.diagnosis.text import CleanText

GUESS: Final = SHAPE + 0.3  # what scores less knows only that something went wrong
REACH: Final = 1.5  # what scores so much less than the finding that decided was no rival
LEAST: Final = 0.5  # a finding that decides is never less sure: below, nothing is acted on

# What a wrapper throws because its command failed.
_THROWN: Final = frozenset(
    {"trace.python", "trace.uncaught", "trace.caller", "error.named", "child.failed", "child.exception"}
)
_TESTS_RAN_AND_FAILED: Final = r"(?m)^\s*Tests:?\s{1,12}[1-9]\d{0,6} failed|^FAILED \S+::\S+"
_SLOW: Final = frozenset({"timeout.exception", "timeout.words", "gist.timeout", "named.timeout"})
_PIPE: Final = "pipe.broken"
_PIPE_WORDS: Final = ("broken pipe", "brokenpipe", "epipe", "sigpipe")
_BILLING: Final = "agent.billing"
_USAGE_LIMIT: Final = "agent.usage_limit"
_SPENT: Final = r"balance|payment|past due|arrears|hard limit|insufficient|credit balance"
_NEAR: Final = 3  # lines
# Where frames of these stand above a time-out, a request was waited for.
_NETWORK_FRAMES: Final = (
    "urllib3", "/requests/", "/httpx/", "httpcore", "aiohttp", "http/client.py", "/socket.py", "/ssl.py",
    "asyncio/streams.py", "undici", "node:_http", "node:net", "node:_tls", "/got/", "/axios/", "node-fetch",
    "net/http", "okhttp3.", "java.net.", "sun.nio.ch", "io.netty", "botocore", "/grpc/", "redis/connection",
    "pymysql", "psycopg", "paramiko", "smtplib", "ftplib", "imaplib", "net/protocol.rb", "faraday",
)  # fmt: skip


def choose(findings: list[Finding], text: CleanText) -> list[Finding]:
    """Return the findings with the deciding one first; what cannot be the cause is left out."""
    findings = _without_tests_that_never_ran(findings, text.body)
    findings = _refused_before_cut(_network_before_missing(findings))
    findings = _compiler_before_thing(_cause_before_bare_exception(findings, text))
    findings = _time_before_credits(_cause_before_pipe(_cause_before_child(findings), text), text)
    return _network_behind_timeout(_lock_before_conflict(_denied_before_missing(findings, text)), text)


def _first(finding: Finding, findings: list[Finding]) -> list[Finding]:
    return [finding, *(other for other in findings if other is not finding)]


def _cause_before_child(findings: list[Finding]) -> list[Finding]:
    """That a command failed is no cause where the text shows one: what the command itself said decides."""
    if findings and findings[0].rule.id.startswith("child."):
        for finding in findings[1:]:
            if finding.score > 1.0 and finding.rule.id not in _THROWN:
                return _first(finding, findings)
    return findings


def _cause_before_bare_exception(findings: list[Finding], text: CleanText) -> list[Finding]:
    """An exception without words (`RuntimeError: 1`) says nothing where another line names a cause."""
    if not findings or findings[0].rule.id != "error.named":
        return findings
    said = text.line(text.line_number(findings[0].start)).partition(":")[2]
    if any(map(str.isalpha, said)):
        return findings
    causes = [each for each in findings[1:] if each.score > 1.0 and each.rule.id not in _THROWN]
    return _first(max(causes, key=lambda each: each.rule.level), findings) if causes else findings


def _compiler_before_thing(findings: list[Finding]) -> list[Finding]:
    """What does not exist in a compiler's message is a name in the code, not a file."""
    if findings and findings[0].rule.id in ("missing.thing", "missing.loose"):
        for finding in findings[1:]:
            if finding.rule.id.startswith("compile.") and finding.score > GUESS:
                return _first(finding, findings)
    return findings


def _cause_before_pipe(findings: list[Finding], text: CleanText) -> list[Finding]:
    """A broken pipe follows from the end of the process at its other side: what that one said decides."""
    if not any(finding.rule.id == _PIPE for finding in findings) or not _about_pipe(findings[0], text):
        return findings
    if findings[0].rule.id == "net.cut":
        return findings
    for finding in findings[1:]:
        if not _about_pipe(finding, text) and finding.rule.id not in _THROWN and finding.rule.id != "trace.frames":
            return _first(finding, findings)
    lines = "\n".join(line for line in text.lines if not _holds_pipe(line.lower()) and line[:1] not in (" ", "\t"))
    gist = gist_of(CleanText(lines.replace("Traceback (most recent call last):", "")))
    if gist is None:
        return _first(next(finding for finding in findings if finding.rule.id == _PIPE), findings)
    said = lines[gist.start : gist.end]
    start = max(0, text.body.find(said))
    return [Finding(gist.rule, start, start + len(said), "", gist.score), *findings]


def _about_pipe(finding: Finding, text: CleanText) -> bool:
    if finding.rule.id in (_PIPE, "trace.python"):
        return True
    return _holds_pipe(text.low(text.line_number(finding.start)))


def _holds_pipe(low: str) -> bool:
    return any(map(low.__contains__, _PIPE_WORDS))


def _time_before_credits(findings: list[Finding], text: CleanText) -> list[Finding]:
    """A limit that names when it ends is waited for, although more could be bought."""
    if not findings or findings[0].rule.id != _BILLING:
        return findings
    for finding in findings[1:]:
        if finding.rule.id == _USAGE_LIMIT and finding.score > EXACT:
            return _first(finding, findings)
    bought = findings[0]
    number = text.line_number(bought.start)
    around = "\n".join(text.lows[max(0, number - 1) : number + _NEAR])
    if compiled(_SPENT).search(text.low(number)) or not compiled(NAMES_A_TIME).search(around):
        return findings
    limit = next(rule for rule in TABLE.rules if rule.id == _USAGE_LIMIT)
    return [Finding(limit, bought.start, bought.end, bought.what, bought.score, bought.doubt), *findings]


def _denied_before_missing(findings: list[Finding], text: CleanText) -> list[Finding]:
    """What could not be made for want of a permission is missing afterwards: the permission decides."""
    if not findings or findings[0].rule.id not in ("missing.file", "missing.thing", "missing.loose"):
        return findings
    number = text.line_number(findings[0].start)
    for finding in findings[1:]:
        before = number - text.line_number(finding.start)
        if finding.rule.id == "permission.denied" and 0 < before <= 2 and finding.score > EXACT:
            return _first(finding, findings)
    return findings


def _lock_before_conflict(findings: list[Finding]) -> list[Finding]:
    """Where a lock is held, what was refused for it is no conflict of contents."""
    if findings and findings[0].rule.id.startswith("conflict."):
        for finding in findings[1:]:
            if finding.rule.id == "lock.held" and finding.score > EXACT:
                return _first(finding, findings)
    return findings


def _network_behind_timeout(findings: list[Finding], text: CleanText) -> list[Finding]:
    """A time-out inside a network library is the network's, not the work's."""
    if not findings or findings[0].rule.id not in _SLOW:
        return findings
    for finding in findings[1:]:
        if finding.rule.id.startswith("net.") and finding.rule.level >= EXACT and finding.score > SHAPE:
            return _first(finding, findings)
    start, end = max(0, findings[0].start - 4_000), findings[0].end + 2_000
    if any(frame in text.body[start:end] for frame in _NETWORK_FRAMES):
        late = next(rule for rule in TABLE.rules if rule.id == "net.timed_out")
        top = findings[0]
        return [Finding(late, top.start, top.end, top.what, top.score, top.doubt), *findings]
    return findings


def _refused_before_cut(findings: list[Finding]) -> list[Finding]:
    """A server that refuses the credentials closes the connection: what it refused decides."""
    if findings and findings[0].rule.id == "net.cut":
        for finding in findings[1:]:
            if finding.rule.subcategory == "auth" and finding.score > EXACT:
                return _first(finding, findings)
    return findings


def _without_tests_that_never_ran(findings: list[Finding], body: str) -> list[Finding]:
    """A suite that could not start did not fail its tests: what kept it from starting decides."""
    others = [finding for finding in findings if finding.rule.id != SETUP]
    if len(others) == len(findings) or compiled(_TESTS_RAN_AND_FAILED).search(body):
        return others
    causes = [finding for finding in others if finding.rule.category != "test_failure"]
    return causes if causes and causes[0].score > 1.0 else others


def _network_before_missing(findings: list[Finding]) -> list[Finding]:
    """A package that "cannot be found" after the network failed was never looked for."""
    if not findings or findings[0].rule.id not in ("missing.package", "missing.loose", "missing.module"):
        return findings
    for finding in findings[1:]:
        if finding.rule.id.startswith("net.") and finding.rule.level >= EXACT and finding.score > EXACT + WARNED:
            return _first(finding, findings)
    return findings


# By how much less sure a finding is with a rival of another category so near, and with so many lines after it.
_RIVALS: Final = ((0.3, 0.8), (0.7, 0.86), (1.2, 0.95))
ONE_SENTENCE: Final = 0.7  # two readings of one line are nearer to each other than two causes are
_AFTER: Final = ((50, 0.88), (15, 0.92), (5, 0.96))


def confidence_of(finding: Finding, findings: list[Finding], text: CleanText) -> float:
    """Return how sure this finding is: what its rule is worth, less for rivals, distance from the end and doubt."""
    sure = finding.rule.confidence
    number = text.line_number(finding.start)
    near = [
        finding.score - other.score + (ONE_SENTENCE if text.line_number(other.start) == number else 0.0)
        for other in findings
        if other.score >= GUESS and other.rule.id not in _THROWN and _leads_elsewhere(finding, other)
    ]
    gap = min((each for each in near if each >= 0), default=REACH)  # what scored more was overruled
    sure *= next((share for below, share in _RIVALS if gap < below), 1.0)
    if not finding.rule.first and finding.rule.category != "test_failure":
        after = sum(1 for line in text.lines[number + 1 :] if line[:1].strip())
        sure *= next((share for above, share in _AFTER if after > above), 1.0)
    return round(max(min(sure, LEAST), sure - finding.doubt), 3)


def _leads_elsewhere(finding: Finding, other: Finding) -> bool:
    """Whether another finding is a rival: of another category, unless a person is asked either way."""
    if finding.rule.category == other.rule.category or (other.start < finding.end and finding.start < other.end):
        return False  # the same words, read less exactly
    if finding.rule.id == "timeout.test" and other.rule.category == "test_failure":
        return False  # a test that exceeds its limit fails
    return any(consequence_of(each.rule.category, each.rule.subcategory).retryable for each in (finding, other))

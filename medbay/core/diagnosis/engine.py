"""`diagnose`: facts first, then what the work said itself, then the text of the error that ended the run."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from medbay.core.diagnosis import facts as results
from medbay.core.diagnosis import limits
from medbay.core.diagnosis.choice import GUESS, REACH, choose, confidence_of
from medbay.core.diagnosis.consequences import advice_for, consequence_of
from medbay.core.diagnosis.course import went_well
from medbay.core.diagnosis.facts import NO_COMMAND, Facts, FactVerdict, certain, likely
from medbay.core.diagnosis.findings import OUTLIVED, Finding, find_all
from medbay.core.diagnosis.fingerprint import failing_line, failing_tests, fingerprint, template
from medbay.core.diagnosis.gist import SHORT, gist_of, named_gist
from medbay.core.diagnosis.limits import provider_of
from medbay.core.diagnosis.location import locate
from medbay.core.diagnosis.record import Diagnosis, Pattern, RunnerUp
from medbay.core.diagnosis.rule import EXACT, RECORD, SHAPE
from medbay.core.diagnosis.table import TABLE, Table
from medbay.core.diagnosis.text import CleanText, clean_window, lines_cut, readable, window
from medbay.core.diagnosis.wording import advise, advise_on_names, bare_name, summarize
from medbay.core.redaction import redact

KEPT_MAX: Final = 512  # diagnoses, each of a few KB at most


@dataclass(frozen=True, slots=True)
class Remembered:
    """A diagnosis without its time, and the lines that may name one: they are read again with each call's clock."""

    diagnosis: Diagnosis
    times: str


class Memory:
    """The last diagnoses by what they were made from. Threads may share it: at worst something is read twice."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Remembered] = {}

    def get(self, key: Hashable) -> Remembered | None:
        """What was found for this key before."""
        return self._known.get(key)

    def keep(self, key: Hashable, known: Remembered) -> Remembered:
        """Remember it, in place of the oldest when there are too many."""
        if len(self._known) >= KEPT_MAX:
            self._known.pop(next(iter(self._known), key), None)
        self._known[key] = known
        return known


def digest(text: str) -> bytes:
    """Sixteen bytes that stand for a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


# They know that it was thrown, not why.
EXCEPTIONS: Final = frozenset({"error.named", "trace.uncaught", "trace.python"})
_NAMED_AT_START: Final = frozenset({"missing.command", "missing.script", "missing.program", "missing.library"})
PLAIN_GISTS: Final = frozenset({"gist.complaint", "gist.place"})
_CLOSING: Final = frozenset({"tests.counts", "tests.said", "tests.marker", "tests.cross"})  # how a test run ends
SILENT: Final = (
    "It printed nothing readable: let it say more (a verbose flag, set -x), or look for a log that it writes itself."
)
RUNNERS_UP_MAX: Final = 4
_ABOUT_NAMES: Final = frozenset({"type", "compile", "runtime", "link", None})  # whose message may name what is wrong
EXCERPT_MAX: Final = 300
EVIDENCE_LINES: Final = 4  # of a finding that stands in several
EVIDENCE_LINE_MAX: Final = 400
TIME_WORDS: Final = ("retry", "reset", "again", "wait", "until", "limit", "available")
TIME_LINES_MAX: Final = 12
NOTHING_FOUND: Final = FactVerdict("none", "unknown", None, 0.6)
PASSED: Final = FactVerdict("fact.exit_0", "unknown", "no_failure", 0.95, "The run succeeded (exit status 0)")
SAID_BESIDE_EXIT_0: Final = 0.75  # a known failure at the end of the output against a good exit status
LINES_AFTER: Final = 4  # what a tool may say after the line that names its failure
_KNOWN: Final = Memory()
_TIMED: Final = frozenset({"rate_limit", "usage_limit", "overloaded", "service", "quota"})


def diagnose(
    text: str | bytes,
    *,
    now: datetime,
    exit_code: int | None = None,
    signal: int | None = None,
    timed_out: bool = False,
    stalled: bool = False,
    memory_limit_hit: bool = False,
    cpu_limit_hit: bool = False,
    log_limit_hit: bool = False,
    spawn_error: str = "",
    runner: str | None = None,
    result: Mapping[str, object] | None = None,
) -> Diagnosis:
    """Say why a run failed. Pure: no clock of its own, no IO, and no text makes it raise.

    `now` carries the zone of the machine; `result` is what `MEDBAY_RESULT` or a Python exception said.
    """
    facts = Facts(
        exit_code=exit_code,
        signal=signal,
        timed_out=timed_out,
        stalled=stalled,
        memory_limit_hit=memory_limit_hit,
        cpu_limit_hit=cpu_limit_hit,
        log_limit_hit=log_limit_hit,
        spawn_error=spawn_error,
    )
    seen, added, said = window(text), results.as_output(result), results.said(result)
    key = (digest(seen), lines_cut(text), added, said, facts, runner)
    known = _KNOWN.get(key)
    if known is None:
        known = _KNOWN.keep(key, _diagnose(clean_window(seen, added), facts, said, runner, whole=text))
    after = limits.said_ms(result.get("retry_after"), now) if result is not None else None
    if after is None and known.times:
        after = limits.reset_at_ms(known.times, now)
    return known.diagnosis if after is None else replace(known.diagnosis, retry_after_ms=after)


def _diagnose(
    text: CleanText, facts: Facts, said: FactVerdict | None, runner: str | None, *, whole: str | bytes
) -> Remembered:
    """Everything but the time, which depends on now."""
    findings = read(text)
    verdict, finding = decide(facts, said, findings, text)
    times = _about_time(text) if verdict.subcategory in _TIMED else ""
    shown = _evidence(text, finding)
    found = _record(verdict, finding, findings, text, runner=runner, shown=shown)
    return Remembered(replace(found, pattern=replace(found.pattern, number=line_number(whole, shown[0]))), times)


def read(text: CleanText, table: Table = TABLE) -> list[Finding]:
    """What the text says, the deciding finding first; where no rule is more than a guess, what it is about."""
    findings = choose(find_all(text, table), text)
    if findings and findings[0].rule.id in EXCEPTIONS:
        named = named_gist(text, findings[0])
        return findings if named is None else [named, *findings]
    if findings and findings[0].score >= GUESS:
        return findings
    gist = gist_of(text)
    if gist is None or (findings and gist.rule.category == findings[0].rule.category):
        return findings
    if (
        not findings
        or gist.rule.id not in PLAIN_GISTS
        or findings[0].doubt >= OUTLIVED
        or _only_a_child_failed(findings[0], text)
    ):
        return [gist, *findings]
    return [*findings, gist]


def _only_a_child_failed(finding: Finding, text: CleanText) -> bool:
    """Whether a short output says no more than that its command failed: another line that complains says why."""
    return finding.rule.id.startswith("child.") and text.line_count <= SHORT


def decide(
    facts: Facts, said: FactVerdict | None, findings: list[Finding], text: CleanText
) -> tuple[FactVerdict, Finding | None]:
    """The verdict, and the finding in the text that agrees with it, if there is one."""
    top = findings[0] if findings else None
    sure = certain(facts) or said
    if sure is NO_COMMAND:
        named = _missing_at_start(findings)
        if named is not None:
            return _verdict_of(named, findings, text), named
        sure = None if _said_otherwise(findings) else sure
    if sure is not None:
        return sure, next((finding for finding in findings if finding.rule.category == sure.category), None)
    if facts.exit_code == 0 and facts.signal is None and (top is None or top.rule.level < RECORD):
        if top is None or not _ended_with(top, text):
            return PASSED, None
        rule = top.rule
        return FactVerdict(rule.id, rule.category, rule.subcategory, SAID_BESIDE_EXIT_0), top
    guess = likely(facts)
    if top is None or (guess is not None and top.score < SHAPE + 0.5):
        return guess or NOTHING_FOUND, None
    return _verdict_of(top, findings, text), top


def _verdict_of(finding: Finding, findings: list[Finding], text: CleanText) -> FactVerdict:
    rule = finding.rule
    return FactVerdict(rule.id, rule.category, rule.subcategory, confidence_of(finding, findings, text))


def _ended_with(finding: Finding, text: CleanText) -> bool:
    """Whether the output ends with a failure that a rule knows: some tools end with 0 all the same."""
    number = text.line_number(finding.start)
    after = [line for line in text.lines[number + 1 :] if line.strip()]
    return finding.score >= EXACT + 0.4 and len(after) <= LINES_AFTER and not went_well(text, number)


def _missing_at_start(findings: list[Finding]) -> Finding | None:
    """What a shell or the loader named that it did not find, where the exit status says no more than that."""
    return next((finding for finding in findings if finding.rule.id in _NAMED_AT_START and finding.what), None)


def _said_otherwise(findings: list[Finding]) -> bool:
    """Whether a program that ended with 127 told of another failure: a shell that misses a command says so."""
    told = [finding for finding in findings if finding.score >= SHAPE]
    return bool(told) and all(finding.rule.category != NO_COMMAND.category for finding in findings)


def _record(
    verdict: FactVerdict,
    finding: Finding | None,
    findings: list[Finding],
    text: CleanText,
    *,
    runner: str | None,
    shown: list[str],
) -> Diagnosis:
    category, subcategory = verdict.category, verdict.subcategory
    line = _deciding_line(text, finding)
    location = None if verdict is PASSED else locate(text)
    follows = consequence_of(category, subcategory)
    told, excerpt = _shown(text, finding, line)
    return Diagnosis(
        category=category,
        subcategory=subcategory,
        confidence=verdict.confidence,
        pattern=Pattern(verdict.rule, redact(excerpt), redact(readable("\n".join(shown).strip()))),
        location=location,
        fingerprint=_fingerprint(category, subcategory, line, text, location.file if location else ""),
        summary=redact(summarize(category, subcategory, _said(verdict, finding, told), str(location or ""))),
        suggested_fix=redact(_advice(verdict, finding, line, text, f" at {location}" if location else "")),
        retryable=follows.retryable,
        retry_after_ms=None,
        provider=provider_of(subcategory, line, runner, text.body),
        charge=follows.charge,
        session=follows.session,
        runners_up=_runners_up(verdict, finding, findings),
    )


def _shown(text: CleanText, finding: Finding | None, line: str) -> tuple[str, str]:
    """The line for the summary and the excerpt: of a test run the test that failed, not the count at its end."""
    if finding is None:
        return readable(line), ""
    failing = failing_line(text.lines, text.body) if finding.rule.id in _CLOSING else ""
    excerpt = failing or text.body[finding.start : finding.end]
    return readable(failing or line), readable(excerpt[:EXCERPT_MAX])


def _evidence(text: CleanText, finding: Finding | None) -> list[str]:
    """The whole lines that a finding stands in, the one that says it first; [""] where nothing in the text decided."""
    if finding is None:
        return [""]
    told, _ = _shown(text, finding, _deciding_line(text, finding))
    first, last = text.line_number(finding.start), text.line_number(max(finding.start, finding.end - 1))
    lines = [line.rstrip()[:EVIDENCE_LINE_MAX] for line in text.lines[first : last + 1]]
    return lines[:EVIDENCE_LINES] if told in lines[0] else [told[:EVIDENCE_LINE_MAX]]


def line_number(text: str | bytes, line: str) -> int | None:
    """The number, from 1, of the last line of an output that holds this one; None where it is not found as it is."""
    if not line:
        return None
    if not isinstance(text, str):
        at = text.rfind(line.encode("utf-8", "surrogatepass"))
        return None if at < 0 else 1 + text.count(b"\n", 0, at)
    at = text.rfind(line)
    return None if at < 0 else 1 + text.count("\n", 0, at)


def _advice(verdict: FactVerdict, finding: Finding | None, line: str, text: CleanText, place: str) -> str:
    if verdict is NOTHING_FOUND and (not line or readable(line) != line):
        return SILENT
    if verdict.category == "code_error" and verdict.subcategory in _ABOUT_NAMES:
        named = advise_on_names(line, place)
        if named:
            return named
    if finding is None or finding.rule.id != verdict.rule:
        advice = advice_for(verdict.category, verdict.subcategory)
        return advise(advice, finding.what if finding else "", line, text.body, place)
    return advise(finding.rule.advice, finding.what, line, text.body, place)


def _runners_up(verdict: FactVerdict, finding: Finding | None, findings: list[Finding]) -> tuple[RunnerUp, ...]:
    """What else the failure may be: the best finding of each other kind that knows a cause and comes near enough."""
    if verdict is PASSED:
        return ()
    least = GUESS if finding is None else max(min(GUESS, finding.score), finding.score - REACH)
    kinds = {(verdict.category, verdict.subcategory)}
    others: list[RunnerUp] = []
    for other in findings:
        rule = other.rule
        if other.score >= least and (rule.category, rule.subcategory) not in kinds:
            kinds.add((rule.category, rule.subcategory))
            others.append(RunnerUp(rule.id, rule.category, rule.subcategory, rule.confidence))
    return tuple(others[:RUNNERS_UP_MAX])


def _said(verdict: FactVerdict, finding: Finding | None, line: str) -> str:
    """What the summary says: the thing that is missing, where the text names it; else the line."""
    if verdict.category == "dependency_missing" and finding is not None:
        return bare_name(finding.what) or line
    return verdict.summary or line


def _about_time(text: CleanText) -> str:
    """The last lines that may say when a limit ends; other lines are not worth a search."""
    numbers = {number for word in TIME_WORDS for number in text.lines_with(word)[-TIME_LINES_MAX:]}
    return "\n".join(text.line(number) for number in sorted(numbers))


def _deciding_line(text: CleanText, finding: Finding | None) -> str:
    """The line that says it; for a bare traceback the line with the exception at its end."""
    if finding is None:
        return next((line for line in reversed(text.body.split("\n")) if line.strip()), "").strip()
    number = text.line_number(finding.start)
    if finding.rule.id == "trace.python":
        following = range(number + 1, text.line_count)
        number = next((at for at in following if text.line(at)[:1] not in ("", " ", "\t")), number)
    return text.line(number).strip()


def _fingerprint(category: str, subcategory: str | None, line: str, text: CleanText, file: str) -> str:
    tests = failing_tests(text.lines, text.body) if category in ("test_failure", "timeout") else ()
    if tests:
        return fingerprint(category, tests)
    name = file.replace("\\", "/").rsplit("/", 1)[-1]
    said = template(line) if category == "unknown" and subcategory is None else line
    return fingerprint(category, (subcategory or "", said, name))

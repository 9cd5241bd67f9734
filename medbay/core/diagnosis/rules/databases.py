"""Rules for what databases and runtimes say in numbers: SQLSTATE classes, runtime error numbers, handles forgotten."""

from __future__ import annotations

from typing import Final

from medbay.core.diagnosis.rule import EXACT, Rule, rule

_AT: Final = r"at \$[0-9a-f]{2,16}"


def _sqlstate(id: str, kind: str, classes: str, *, hit: str, miss: str) -> Rule:
    """A class of the SQL standard, however the client writes the state."""
    return rule(
        f"sqlstate.{id}",
        kind,
        rf"sql ?state\W{{1,4}}(?:{classes})",
        on="sqlstate state",
        hit=hit,
        miss=miss,
        level=EXACT + 0.5,
        confidence=0.92,
    )


RULES: Final[tuple[Rule, ...]] = (
    _sqlstate(
        "connection",
        "transient/network",
        r"08\w{3}|57p0\w",
        hit="SQL30081N  A communication error has been detected.  SQLSTATE=08001",
        miss="SQLSTATE=42601",
    ),
    _sqlstate(
        "rollback",
        "transient/lock",
        r"40\w{3}|55p03|55006",
        hit="SQLSTATE: 40001",
        miss="the state of 40 sqlstate rows",
    ),
    _sqlstate("auth", "unknown/auth", r"28\w{3}|42501", hit="* 10: denied SQLSTATE: 28000", miss="SQLSTATE=42704"),
    _sqlstate(
        "resources",
        "resource_exhaustion",
        r"53\w{3}|57011",
        hit="no pages left.  SQLSTATE=57011",
        miss="SQLSTATE=57014",
    ),
    _sqlstate("canceled", "timeout/statement", "57014", hit="ERROR: canceled (SQLSTATE 57014)", miss="SQLSTATE=57011"),
    _sqlstate("constraint", "unknown/conflict", r"23\w{3}", hit="SQLSTATE[23000]: Integrity", miss="SQLSTATE=22003"),
    _sqlstate("no_database", "dependency_missing/file", "3[df]000", hit="(SQLSTATE 3D000)", miss="SQLSTATE=38000"),
    _sqlstate(
        "statement",
        "code_error/sql",
        r"(?!42501)42\w{3}|22\w{3}|0a000|21\w{3}",
        hit='SQL0204N  "ORDRES" is an undefined name.  SQLSTATE=42704',
        miss="SQLSTATE=42501",
    ),
    rule(
        "sql.no_table",
        "code_error/sql",
        r"no such (?:table|view)\b",
        r"relation .{1,80} does not exist",
        r"table .{1,80} (?:doesn't|does not) exist",
        "(?:base )?table (?:or view )?(?:does not exist|not found)",
        r"invalid object name '",
        on="table",
        hit=('ERROR:  relation "users" does not exist', "sqlite3.OperationalError: no such table: nope"),
        miss='ERROR:  column "nam" does not exist',
        advice="Create the table (have the migrations run?), or correct its name or the database that is asked.",
        first=True,
        in_code=True,
        level=EXACT + 0.5,
        confidence=0.93,
    ),
    rule(
        "pascal.missing",
        "dependency_missing/file",
        rf"runtime error (?:2|3|15) {_AT}",
        tool="fpc",
        hit="Runtime error 2 at $0000000000401125",
        miss="Runtime error 201 at $0000000000401125",
        level=EXACT + 0.5,
    ),
    rule(
        "pascal.resources",
        "resource_exhaustion",
        rf"runtime error (?:4|101|203) {_AT}",
        tool="fpc",
        hit="Runtime error 203 at $0000000000401125",
        miss="Runtime error 200 at $0000000000401125",
        level=EXACT + 0.5,
    ),
    rule(
        "pascal.denied",
        "unknown/permission",
        rf"runtime error 5 {_AT}",
        tool="fpc",
        hit="Runtime error 5 at $0000000000401125",
        miss="Runtime error 215 at $0000000000401125",
        level=EXACT + 0.5,
    ),
    rule(
        "handle.lost",
        "transient/lost",
        r"(?:cursor|lease|scroll|search context|transaction|portal|watch|upload)(?: id)? \S{1,80} "
        r"(?:was |is )?(?:not found|no longer|unknown|has expired|expired|does not exist)",
        "no search context found",
        "cursornotfound",
        "cursor ?(?:id )?not ?found",
        r"(?:resource|snapshot|resume) (?:version|token|point|too)\b.{0,40}(?:too old|no longer|expired)",
        "snapshot too old",
        hit=(
            "MongoServerError[CursorNotFound]: cursor id 831 not found",
            "ORA-01555: snapshot too old: rollback segment",
        ),
        miss="the cursor moved to an id",
        level=EXACT + 0.4,
        confidence=0.85,
    ),
    rule(
        "breaker.tripped",
        "resource_exhaustion/memory",
        "circuit_breaking_exception",
        "data too large, data for",
        hit='{"type":"circuit_breaking_exception","reason":"[parent] Data too large, data for [<http_request>]"}',
        miss="the circuit was broken",
        level=EXACT + 0.7,
    ),
    rule(
        "data.corrupt",
        "code_error/data",
        "bad magic (?:number|bytes?|value)",
        r"not (?:in|a|an|a valid|a recogni[sz]ed) (?:\w+ )?(?:gzip|zip|tar|bzip2|xz|lzip|zstd|jpeg|png|gif|pdf|elf|archive|image|sqlite) ?(?:format|archive|file|image|database)?\b",
        r"(?:does not|doesn't) (?:look|appear)(?: to be)?(?: like)? an? (?:\w+ ){0,2}(?:file|archive|image|database)",
        r"(?:file|archive|image|database|data|header|input|stream|index|package|backup|page|block) (?:is |are |was |appears to be |seems to be )?(?:corrupt(?:ed)?|damaged|truncated)\b",
        r"(?:corrupt(?:ed)?|damaged|truncated) (?:\w+ ){0,2}(?:file|archive|input|data|header|image|database|index|package|backup|page|block|zip|gzip)\b",
        r"premature end of (?:file|archive|data|input|stream|jpeg)",
        r"unexpected end of (?:archive|data|stream|compressed|zlib)",
        r"unexpected (?:eof|end of file) in (?:the )?archive",
        r"(?:g?zip|gunzip|zcat|bzip2|bunzip2|bzcat|xz|unxz|xzcat|lzma|lzip|zstd|lz4|tar|cpio|unzip|7z|ar): (?:.{1,160}: )?unexpected end of (?:file|input)",
        "compressed file (?:ended before|ends unexpectedly)",
        r"read error .{0,12}premature end\b",
        "badzipfile",
        "disk image is malformed",
        "badgzipfile",
        "end-of-central-directory signature not found",
        r"(?:invalid|bad|incorrect|unrecogni[sz]ed) (?:compressed|gzip|zip|tar|archive|header|magic|zlib|file) (?:data|header|number|archive|format|checksum|signature)",
        "invalid data found when processing input",
        r"crc (?:error|failed|mismatch|check failed)",
        on="in a an file archive unexpected",
        hit=(
            "lzip: a.lz: Bad magic number (file not in lzip format).",
            "WARNING: r.pdf: file is damaged\nqpdf: unable to find trailer dictionary while recovering damaged file",
            "tar: This does not look like a tar archive",
            "gzip: stdin: unexpected end of file",
            "tar: Unexpected EOF in archive",
        ),
        miss="a.sh: line 3: syntax error: unexpected end of file",
        advice="The file is damaged or was cut off: fetch or make it again, and compare its size and checksum.",
        level=EXACT + 0.7,
        confidence=0.85,
    ),
)

"""Rules for HTTP status codes, only where the text around the number shows that it is one."""

from __future__ import annotations

from typing import Final

from medbay.core.diagnosis.rule import Rule, rule

# What stands before a status in error messages, JSON bodies and logs; never a bare number.
# One look for the edge of a word comes before all alternatives that begin with a letter: most places end there.
_BEFORE: Final = (
    r"(?:\b(?:HTTP/[\d.]{1,3}[ \"]{1,2}|http(?: status| error| code| response)?(?: code)?[ :=]{1,3}\(?"
    r"|status(?:[ _-]?code)?\\?[\"']?(?: of| was| is)?[ :=(>]{1,4}\\?[\"']?"
    r"|error[ _](?:code|status)\\?[\"']?[ :=(]{1,3}|response[ _](?:code|status)\\?[\"']?[ :=(]{1,3}"
    r"|return[ _](?:code|status)\\?[\"']?[ :=(]{1,3}|api_error[ _](?:code|status)\\?[\"']?[ :=(]{1,3}"
    r"|returned (?:error|status|http|code|a|an)[: ]{1,3}(?:code |status )?|api error[ :(]{1,3}"
    r"|got (?<!but got )(?:an? )?(?:http )?|responded with (?:an? )?(?:status )?(?:of |code )?"
    r"|unexpected status(?: code)?(?: from [^\n]{0,120})?[ :]{1,2}|error[: ]{1,2}|err!? (?:code e)?"
    r"|code: |failed with (?:status )?(?:code )?|server (?:returned|replied|responded)(?: with)?[^\n]{0,40}?[ :]"
    r"|code[\"']: ?|status[\"']: ?|request failed[^\n]{0,40}?[ (:]|failed[:(]{1,2} ?"
    r"|\w{0,40}(?:Error|Exception)[ :(\[]{1,3}(?:http )?)"
    r"|[\"']\b(?:code|status)[\"']: ?|\\?\"(?:api_error_status|statusCode|error_status)\\?\" ?: ?|- )"
)


def _status(
    id: str, kind: str, codes: str, words: str, *, hit: str, miss: str, confidence: float = 0.95, advice: str = ""
) -> Rule:
    numbers = codes.split("|")
    return rule(
        id,
        kind,
        # The number with its own words after it, such as "503 Service Unavailable".
        rf"(?<![\w:./#-])e?(?:{codes})[ :,-]{{1,3}}(?:Client Error: |Server Error: )?[(\"]?(?:{words})",
        rf"{_BEFORE}(?:{codes})(?![\w.-]|:\d| (?:login|user|tests|files|modules|rows|items|lines|bytes|ms))",
        # The number in brackets after what failed, such as "the request failed (503)".
        rf"(?:error|failed|failure|response|server|request|returned|unavailable|refused|rejected)\b[^\n()]{{0,60}}\((?:http )?(?:{codes})\)",
        on=" ".join([*numbers, *(f"e{number}" for number in numbers)]),
        hit=hit,
        miss=miss,
        confidence=confidence,
        advice=advice,
        strict=True,
    )


RULES: Final[tuple[Rule, ...]] = (
    _status(
        "http.rate_limit",
        "transient/rate_limit",
        "429",
        "too many requests|rate|quota",
        hit="HTTP/1.1 429 Too Many Requests",
        miss="app.js:429: done",
    ),
    _status(
        "http.server",
        "transient/service",
        "500|502|503|504|520|521|522|523|524|525|527|530",
        "internal|bad gateway|service|gateway|web server|origin|server error|backend|unknown error|connection timed",
        hit="remote: HTTP 503 Service Unavailable",
        miss="Done in 4.2s (503 chunks)",
    ),
    _status(
        "http.overloaded",
        "transient/overloaded",
        "529",
        "overloaded|site is overloaded",
        hit="API Error: 529 overloaded",
        miss="529 tests passed",
    ),
    _status(
        "http.timeout",
        "transient/network",
        "408",
        "request time",
        hit="HTTP 408 Request Timeout",
        miss="408 modules transformed",
    ),
    _status(
        "http.auth",
        "unknown/auth",
        "401|403|407",
        "unauthori[sz]ed|forbidden|proxy auth|access denied|authentication|bad credentials|permission",
        hit="HTTP 401 Unauthorized",
        miss="row 401 of 500",
    ),
    _status(
        "http.payment",
        "resource_exhaustion/quota",
        "402",
        "payment required|insufficient",
        hit="402 Payment Required",
        miss="402 files checked",
    ),
    _status(
        "http.missing",
        "dependency_missing/file",
        "404|410",
        "not found|page not found|gone|no such|: not found",
        hit="HTTP 404 Not Found",
        miss="404 tests passed",
        confidence=0.92,
        advice="Correct the address it asked for, or provide what should be there.",
    ),
    _status(
        "http.conflict",
        "unknown/conflict",
        "409|412",
        "conflict|precondition failed",
        hit="409 Conflict: resource already exists",
        miss="409 rows",
        confidence=0.9,
    ),
    _status(
        "http.too_large",
        "resource_exhaustion",
        "413",
        "payload too large|request entity|content too large",
        hit="413 Payload Too Large",
        miss="413 rows",
        confidence=0.85,
    ),
    _status(
        "http.insufficient_storage",
        "resource_exhaustion/disk",
        "507",
        "insufficient storage",
        hit="507 Insufficient Storage",
        miss="507 rows",
        confidence=0.9,
    ),
    _status(
        "http.bad_request",
        "code_error/config",
        "400|405|406|411|414|415|422|426|431",
        "bad request|method not allowed|not acceptable|unprocessable|unsupported media|length required|uri too long"
        "|upgrade required",
        hit="HTTP 400 Bad Request",
        miss="400 requests sent",
        confidence=0.92,
    ),
)

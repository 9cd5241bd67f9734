"""Topics: what an undescribed failure is most likely about, by the words of its last complaint.

Asked only when no rule of the other tables recognised more than "something went wrong". The order decides: who may not
comes before what is not there ("missing credentials"), and a plain complaint comes last.
"""

from __future__ import annotations

from typing import Final

from medbay.core.diagnosis.rule import Rule, rule

# A line complains when it says that something is not as it should be.
TONE: Final = (
    r"\b(?:not|no|never|cannot|can't|couldn't|won't|doesn't|didn't|isn't|wasn't|hasn't|don't|unable|fail(?:ed|s|ure|ures|ing)?"
    r"|\w{0,40}errors?|\w{0,40}exception|invalid|illegal|wrong|bad|violat\w{1,6}|mismatch\w{0,4}|undefined|undeclared|unbound"
    r"|missing|absent|lacks?|exceed(?:s|ed|ing)?|exhausted|expected|unexpected|expired|must|refus\w{1,4}|reject\w{1,4}"
    r"|abort\w{0,4}|denied|forbidden|unauthori[sz]ed|raised|conflict\w{0,4}|overflow\w{0,4}|underflow|corrupt\w{0,6}"
    r"|unrecogni[sz]ed|unsupported|unknown|ambiguous|broken|malformed|unclosed|duplicate|too|out of|already|unreachable"
    r"|unavailable|offline|fatal|panic\w{0,4}|fault|crash\w{0,4}|killed|stopping|halted|insufficient|incompatible|required"
    r"|impossible|incorrect|inconsistent|negative|unresolved|locked|busy|holds|held|timed[ -]out|timeout(?![-.]\w| ?[:=]? ?\d)|non-?existent|exclude[sd]?|blocked|g(?:ave|iving) up|lost|hung|stuck|ran (?:into|out)|used (?:up|all)"
    r"|more than|heavy load|unhandled|another (?:session|process|user|instance))\b"
)

# What is no complaint, or one that tells nothing: that there is none, and that something failed.
TELLS_NOTHING: Final = (
    r"\b(?:0|no|without|zero) (?:\w{1,20} )?(?:errors?|failures?|failed|warnings?|problems?|issues?|conflicts?)\b"
    # That a command failed says nothing about why.
    r"|^.{0,120}\b(?:(?:failed|exited|completed|returned|finished|terminated|exit)\b.{0,40}\b(?:code|status)\W{0,3}\d{1,3}\b.{0,60}$"
    r"|(?:job|command|process|step|task|script|stage|pipeline|operation|subprocess|child|target|build|run|deploy\w{0,6}|release|it)"
    r"(?: [#`'\"]?[\w:.-]{1,40}[`'\"]?)? (?:has )?(?:failed|aborted|errored)[:.!]{0,3}(?: (?:see|check|please) .{0,80})?$)"
    r"|\bjob for \S{1,80} failed because .{0,80}exited .{0,80}$|^see \"systemctl status .{0,120}$"
    r"|\bsomething went wrong\b|^\S{0,20}make(?:\[\d{1,3}\])?: \*\*\* \[.{1,200}\] error \d{1,3}$"
    r"|^(?:\S{1,20} )?(?:err!|error) code \d{1,3}$|\bscript \S{1,60} failed with error:$"
    r"|^\W{0,6}(?:(?:an? )?(?:unexpected |unknown |internal )?errors?(?: (?:has )?occurred)?|failed|failure|finished with errors?)[.!:]{0,3}$"
)


def _topic(id: str, kind: str, words: str, *, hit: str | tuple[str, ...], miss: str, confidence: float = 0.65) -> Rule:
    return rule(f"gist.{id}", kind, words, hit=hit, miss=miss, on="any", level=0.0, confidence=confidence)


GISTS: Final[tuple[Rule, ...]] = (
    _topic(
        "auth",
        "unknown/auth",
        r"\b(?:o?auth|authori[sz]\w{1,8}|authenticat\w{1,4}|credentials?|log(?:ged|ging)?[ -]?in|sign(?:ed|ing)?[ -]?in|passwords?"
        r"|passphrase|permissions?|privileges?|forbidden|denied|not (?:allowed|permitted|entitled|eligible)|api[ _-]?keys?"
        r"|(?:access|api|auth|bearer|session|refresh|id)[ _-]tokens?|tokens? (?:has |is |was )?(?:expired|revoked|missing|invalid)"
        r"|expired tokens?|licen[cs]es?|licensed|polic(?:y|ies)|security ?(?:errors?|exception|polic\w{1,3}|violation|token)|certificates?|untrusted|read-?only"
        r"|safe mode|stdin is not|as root|lacks the (?:scope|role|right)|protected branch\w{0,2}|(?:reviews?|approvals?) (?:is |are )?required)\b",
        hit=("The session is not entitled to this feature", "Commit refused: your licence has lapsed"),
        miss="The order was not sent",
    ),
    _topic(
        "lock",
        "transient/lock",
        r"\b(?:(?:holds?|held|has|got|took) (?:the|a|an) lock|lock(?:ed)? (?:is |by )|locked|busy|(?:already |currently |still )?in use"
        r"|another (?:\w{1,30} ){1,2}(?:is|holds?|has|runs)|concurrent\w{0,4}|mounted|already (?:running|listening|started|bound)|by another (?:session|process|user|instance)"
        r"|pid ?file \S{1,80} exists)\b",
        hit=("another deploy holds the lock", "/dev/sda1 is mounted; will not make a filesystem here!"),
        miss="the clock was wrong",
    ),
    _topic(
        "conflict",
        "unknown/conflict",
        r"\b(?:conflicts?|conflicting|already (?:exists?|there|taken|defined in the target|published|applied|present)|exists already|(?:not|non-?) ?empty"
        r"|duplicates?(?! (?:definition|declaration|identifier|case|symbol|import|attribute|function|method|class|variable|label|member|parameter|field)s?\b)"
        r"|diverged|uncommitted|unclean|dirty|out of sync|rejected|stale)\b",
        hit="The release 1.2 is already published",
        miss="The release was not found",
    ),
    _topic(
        "timeout",
        "timeout/operation",
        r"\b(?:time[ -]?outs?|timed[ -]out|deadline|took too long|too slow|unresponsive|hung|stalled|did not (?:finish|complete|respond) in time"
        r"|time budget|no (?:progress|output|activity|answer|response) (?:for|in|since) \d{1,6}|elapsed \d{1,6} ?\w{0,8}, allowed"
        r"|(?:within|than|exceeding|exceeds|exceeded|waited|waiting|g(?:ave|iving) up after|ran into (?:its|the|a))"
        r" (?:the |its |more than )?\d{1,6}(?:\.\d{1,3})? ?(?:ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?|milliseconds?))\b",
        hit="sync failed: it took too long",
        miss="sync failed: it took a wrong turn",
    ),
    _topic(
        "network",
        "transient/network",
        r"\b(?:(?:dis)?connect(?:ion|ions|ed|ing)?|unreachable|network|dns (?:lookup|server|query|resol\w{1,6}|error|failure|name)|lookup (?:error|failed)|hostname|sockets?|offline|unavailable|not reachable"
        r"|(?:server|host|peer|broker|endpoint|service|upstream|backend|gateway|proxy)\b.{0,40}\b(?:down|away|gone|respon\w{1,8}|answer\w{0,4}|reach\w{0,6})"
        r"|no (?:healthy|route)|elect(?:ing|ion)|heartbeats?|heavy load|retry your request|temporar(?:y|ily)|try(?:ing)? again|retry(?:ing)? later|refused|reset by)\b",
        hit=("Unable to connect (Lookup error.).", "the broker does not answer: fatal"),
        miss="the order was refunded",
    ),
    _topic(
        "resource",
        "resource_exhaustion",
        r"\b(?:memory|disk|heap|exhausted|quota|credits?|capacity|insufficient (?:\w{1,20} )?(?:space|resources?|funds)|out of (?:space|resources?|room)"
        r"|no (?:free |more |remaining )?(?:space|room|slots?|inodes?|handles?)|too (?:many|large|big|much)|max(?:imum)? (?:size|number)|larger than"
        r"|used all|run out|ran out|exceed\w{0,3} (?:\w{1,20} ){0,4}(?:limits?|size|max\w{0,4}|quota|budget)|limit (?:of .{1,30} )?(?:exceeded|reached|hit))\b",
        hit=("result exceeds max size for a value", "cannot start: no free slots"),
        miss="the result is not a value",
    ),
    _topic(
        "missing",
        "dependency_missing/file",
        r"\b(?:missing (?:\w{1,30} )?(?:files?|director(?:y|ies)|modules?|packages?|dependenc(?:y|ies)|librar(?:y|ies)|headers?|plugins?|images?|artifacts?|inputs?)|(?:is|are|was|were) missing|missing:|not (?:be )?(?:found|present|installed|available|resolved)|(?:can't|cannot|couldn't|could not|unable to|failed to) (?:find|locate|cd|open|resolve)"
        r"|(?:does not|doesn't|did not) exist|non-?exist(?:ent|ing)|absent|no (?:such|input|matching)\b|no \S{1,60} (?:file|found)|unresolved|not known to|no usable|has not been created)\b",
        hit=("cd: can't cd to /srv/app/current", "autoconf: error: no input file"),
        miss="the file is malformed",
    ),
    _topic(
        "tests",
        "test_failure",
        r"\b(?:tests?|assertions?|expectations?|scenarios?|testcases?)\b.{0,60}\b(?:fail\w{0,5}|mismatch\w{0,4}|did not pass|not met|broken)\b"
        r"|\b\d{1,6} (?:checks?|specs?|cases?) did not pass\b|\bexpected [\w .]{1,40}, (?:received|got|actual) \w"
        r"|\b(?:fail\w{0,5})\b.{0,40}\b(?:tests?|assertions?|expectations?|scenarios?|testcases?)\b",
        hit="orders: expectations not met",
        miss="orders: not delivered",
    ),
    _topic(
        "complaint",
        "code_error",
        TONE,
        hit=("car: contract violation", "*** - CAR: 5 is not a list"),
        miss="Uploading 503 files",
        confidence=0.6,
    ),
    _topic(
        "place",
        "code_error",
        r"\bline \d{1,7},? (?:at )?col(?:umn)?:? \d|(?:\bat|\bin|\bon|^)\s{1,4}\S{1,120}[\s,:(]{1,3}line \d{1,7}\b|^\S{1,120}\.[a-z]\w{0,9}:\d{1,7}(?::\d{1,6})?(?::|$| )",
        hit=("  in block <unit> at a.raku line 1", "a.fish:3: odd", "a weasel word on line 1 at column 33"),
        miss="Downloaded 3 files in 2 lines",
        confidence=0.6,
    ),
)


def _name(id: str, kind: str, words: str, *, hit: str, miss: str) -> Rule:
    return rule(f"named.{id}", kind, words, hit=hit, miss=miss, on="any", level=0.0, confidence=0.85)


# The same for the words of an exception's name, `RecordTooLargeException`, when nothing else tells what it is about.
NAMES: Final[tuple[Rule, ...]] = (
    _name(
        "code",
        "code_error/runtime",
        r"\b(?:(?:key|element|method|field|attribute|property|column|symbol|index|variable|constant|member|function|argument|selector|node) "
        r"(?:is )?(?:not found|missing|exists?)|no such (?:element|method|field|property|attribute|member|key)|missing (?:property|method|field|key|attribute|element|argument|member|function|return)|stack overflow|recursion|concurrent modification)\b",
        hit="NoSuchElementException",
        miss="QueueNotFound",
    ),
    _name(
        "auth",
        "unknown/auth",
        r"\b(?:auth|authenticat\w{1,4}|authori[sz]\w{1,8}|access (?:denied|refused)|permission\w{0,2}|forbidden|credentials?|(?:invalid|expired|missing) token|token "
        r"(?:expired|invalid|revoked)|login|not logged in|unauthori[sz]ed\w{0,8}|security)\b",
        hit="TokenExpiredError",
        miss="AuthorNameError",
    ),
    _name(
        "timeout",
        "timeout/operation",
        r"\b(?:time ?out|timed out|deadline exceeded|time limit exceeded|too slow)\b",
        hit="TaskTimedOutError",
        miss="TimeFormatError",
    ),
    _name(
        "rate",
        "transient/rate_limit",
        r"\b(?:rate limit\w{0,4}|throttl\w{1,5}|too many requests)\b",
        hit="RateLimited",
        miss="RateError",
    ),
    _name(
        "network",
        "transient/network",
        r"\b(?:connect(?:ion|or)?|disconnect\w{0,4}|unavailable|unreachable|network|transport|socket|no (?:brokers?|servers?|nodes?|hosts?) available"
        r"|broker|gateway|not (?:leader|primary|master)|overloaded|service down)\b",
        hit="StreamDisconnectedException",
        miss="InvoiceStateException",
    ),
    _name(
        "resource",
        "resource_exhaustion",
        r"\b(?:too (?:large|big|many|long)|exhausted|out of (?:memory|space|disk|resources)|quota|insufficient \w{1,20}|limit (?:exceeded|reached)"
        r"|size (?:limit )?exceeded|capacity|no space|disk full)\b",
        hit="RecordTooLargeException",
        miss="RecordStateException",
    ),
    _name(
        "lock",
        "transient/lock",
        r"\b(?:lock|locked|busy|in use|deadlock|concurrent\w{0,4}|serialization)\b",
        hit="WorkspaceLockedError",
        miss="BlockSizeError",
    ),
    _name(
        "conflict",
        "unknown/conflict",
        r"\b(?:already exists?|conflict|duplicate|stale|(?:integrity|constraint|unique\w{0,4}|foreign key) (?:constraint )?violation|not unique)\b",
        hit="BucketAlreadyExists",
        miss="BucketNameInvalid",
    ),
    _name(
        "missing",
        "dependency_missing/file",
        r"\b(?:not found|does not exist|do not exist|no such|missing|non ?exist(?:ent|ing)|unknown (?:topic|queue|exchange|service|database|image|module|package)"
        r"|not installed)\b",
        hit="QueueDoesNotExist",
        miss="QueueStateError",
    ),
)

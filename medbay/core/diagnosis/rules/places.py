"""Shapes in which tools name a position in a file, the sharpest first: the table that `location` reads."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from medbay.core.diagnosis.rule import compiled

_FILE: Final = r"(?P<file>(?:[A-Za-z]:[\\/])?[^\s:()\"'`,;|<>=\[\]{}*?!#$&]{1,200}?\.[A-Za-z]\w{0,9})"
_NAMED: Final = r"(?P<file>(?:[\w./-]{1,120}/)?(?:[A-Z]\w{1,20}file|makefile|GNUmakefile|Snakefile|justfile|BUILD|WORKSPACE|PKGBUILD|APKBUILD))"
_LINE: Final = r"(?P<line>\d{1,7})"
_COL: Final = r"(?::(?P<col>\d{1,6}))?"
# What else a line of some shapes holds, in lower case and with zeros for digits: short to look for, and mostly absent.
_COLON: Final = r"\.[a-z]\w{0,9}:0"
_BRACKET: Final = r"\.[a-z]\w{0,9}\(0"
_NAMED_COLON: Final = r":0(?<=[ed]:0)"  # file, build, workspace
_PAIR: Final = r"\(0{1,7}:0"
_COMMA_LINE: Final = r"\.[a-z]\w{0,9}\"?, line 0"
_URL: Final = r"(?:file://|webpack://[\w-]{0,40}/?)?"


@dataclass(frozen=True, slots=True)
class PositionPattern:
    """One shape in which tools name a position.

    `needle` is what its lines hold, in lower case and with zeros for digits, and `joint` a pattern that they match so,
    or nothing: others are skipped.
    """

    id: str
    needle: str
    source: str
    last: bool
    joint: str
    example: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when a text first may hold it: most never do."""
        return compiled(self.source)


def _place(id: str, needle: str, pattern: str, example: str, *, last: bool = False, joint: str = "") -> PositionPattern:
    return PositionPattern(
        id, needle, pattern, last, joint or (_COLON if f"{_FILE}:{_LINE}" in pattern else ""), example
    )


# The sharpest shapes first: the first one that names a file of the project's own wins.
PLACES: Final = (
    _place("compiler", "error", rf"^\s{{0,4}}(?:\[?(?:ERROR|error|e)\]?:? )?{_URL}{_FILE}[:(]\[?{_LINE}(?:[:,.] ?(?P<col>\d{{1,6}})(?:-\d+(?:\.\d+)?)?)?"
           r"\]?\)?\s?[:-]?\s{0,3}(?:\(?[\w-]{0,16}\)? )?(?:fatal |internal |syntax |compile |type |parse )?[Ee]rror(?:$|[:\[(!]| [A-Z]{1,5}\d| #\d| -|\s{2})", "a.c:3:5: error: x"),
    _place("code_first", "error ", rf"^\W{{0,4}}(?:Error|Fatal|ERROR) (?:\[\d{{1,5}}\]|[A-Z]\d{{3,5}}) {_FILE}[; ]{{1,3}}{_LINE}[.:](?P<col>\d{{1,6}})?", "Error E2451 main.cpp 30: Undefined symbol 'totl'"),
    _place("in_line_of", "in line 0", rf"ERROR .{{0,40}}IN LINE {_LINE} OF {_FILE}", "*** ERROR C202 IN LINE 22 OF MAIN.C: 'P9': undefined identifier"),
    _place("at_line", "(at line 0", rf"ERROR in {_FILE} \(at line {_LINE}\)", "2. ERROR in /app/Cart.java (at line 14)"),
    _place("slashed", '" 0', rf"\bE\d{{3}}: \[\"{_FILE}\" {_LINE}/(?P<col>\d{{1,6}})\]", 'ctc E272: ["../src/uart.c" 77/14] undeclared identifier'),
    _place("columns", "error ", rf"^{_FILE}\s{{1,4}}{_LINE}\s{{1,4}}[Ee]rror\b", "src/queue.c  71  Error 40: Undeclared identifier"),
    _place("barred", "|0", rf"\*[EF],\w{{3,12}} \({_FILE},{_LINE}\|(?P<col>\d{{1,6}})\)", "ncvlog: *E,UNDIDN (./rtl/fifo.v,31|12): undeclared"),
    _place("compiler.maven", "[error]", rf"^\[(?:ERROR|error)\] {_FILE}:\[?{_LINE}[:,](?P<col>\d{{1,6}})\]?", "[ERROR] /a/A.java:[3,9] cannot find symbol"),
    _place("quoted", "error", rf"^\W{{0,3}}{_FILE}\"?(?:: |, ?(?:line )?){_LINE}(?:[.:](?P<col>\d{{1,6}}))?\s{{0,2}}:?\s{{1,3}}(?:fatal )?[Ee]rror\b", "prog.cob: 12: error: x"),
    _place("compiler.de", "fehler", rf"^{_FILE}:{_LINE}{_COL}: (?:fataler )?Fehler", "a.c:1:2: Fehler: x"),
    _place("compiler.fr", "erreur", rf"^{_FILE}:{_LINE}{_COL}: erreur", "a.c:1:2: erreur: x"),
    _place("arrow", "-->", rf"^\s{{0,8}}--> ?{_FILE}:{_LINE}{_COL}", " --> src/main.rs:1:5"),
    _place("comma_box", ",-[", rf"^\s{{0,8}},-\[{_FILE}:{_LINE}{_COL}\]", "   ,-[a.js:1:1]"),
    _place("parse_at", "error at ", rf"[Ee]rror at {_FILE}:{_LINE},(?P<col>\d{{1,6}})", "Parse error at a.js:3,0"),
    _place("box", "─", rf"^\s{{0,8}}(?:┌─|╭─\[|╭─) ?{_FILE}:{_LINE}{_COL}", "  ┌─ src/a.roc:3:5"),
    _place("scala3", "error:", rf"^-- .{{0,60}}Error: {_FILE}:{_LINE}{_COL}", "-- [E006] Not Found Error: Foo.scala:3:5 ---"),
    _place("required", "required from here", rf"^{_FILE}:{_LINE}{_COL}:\s+required from here", "m.cpp:6:9:   required from here"),
    _place("pytest", "0: ", rf"^{_FILE}:{_LINE}: (?:[\w.]*(?:Error|Exception|Failed|Warning|Exit|Interrupt|Timeout\w*)|Failed)$", "tests/a.py:10: AssertionError"),
    _place("failed", "fail", rf"^\s{{0,8}}{_FILE}:{_LINE}{_COL}:? (?:FAILED|Failure|FAIL)\b", "/app/test.cpp:7: FAILED:"),
    _place("inside", "(0", rf"(?:^|[\s\]]){_FILE}: .{{1,300}}\({_LINE}:(?P<col>\d{{1,6}})\)", "SyntaxError: src/a.js: Unexpected token (3:8)", joint=_PAIR),
    _place("rollup", " (0", rf"(?:^|\s){_FILE} \({_LINE}:(?P<col>\d{{1,6}})\)", "RollupError: src/main.js (3:8): Expected", joint=_PAIR),
    _place("python", "file \"", rf"^(?:E\s{{1,8}})?\s*File \"(?P<file>[^\"\n]{{1,300}})\", lines? {_LINE}", '  File "a.py", line 3, in f', last=True),
    _place("panic", "panicked at", rf"panicked at (?:'.{{0,200}}', )?{_FILE}:{_LINE}{_COL}", "thread 'main' panicked at src/main.rs:4:21:"),
    _place("dotnet", ":line 0", rf" in {_FILE}:line {_LINE}", "   at A.B() in /app/A.cs:line 9"),
    _place("thrown_at", "@", rf"(?:Error|Exception)@{_FILE}[(:]{_LINE}\)?", "core.exception.ArrayIndexError@a.d(1): index [5]"),
    _place("exunit", "0: (", rf"^\s{{4,12}}{_FILE}:{_LINE}: \(", "       t.exs:5: (test)"),
    _place("node", "at ", rf"^\s{{1,12}}at (?:async )?(?:[^\n(]{{1,200}} \()?{_URL}{_FILE}:{_LINE}{_COL}\)?$", "    at f (/app/a.js:4:19)"),
    _place("node.head", ":0", rf"^{_URL}(?P<file>/[^\s:]{{1,200}}\.[cm]?[jt]sx?):{_LINE}$", "/home/dev/app/app.js:4"),
    _place("java", "at ", r"^\s{1,12}at (?!java\.|javax\.|jdk\.|sun\.|kotlin\.|scala\.|clojure\.|org\.(?:junit|gradle|apache|testng|opentest4j|codehaus|springframework)"
           rf"|groovy\.|com\.sun\.|java\.base)[\w.$<>/-]{{1,200}}\((?P<file>[\w$]{{1,80}}\.(?:java|kt|scala|groovy|clj)):{_LINE}\)", "\tat app.A.main(A.java:3)"),
    _place("java.brief", " at ", rf" at (?P<file>\w{{1,80}}\.(?:java|kt|scala|groovy)):{_LINE}$", "    AssertionFailedError at CalcTest.java:9"),
    _place("go", ".go:0", rf"^\s{{0,12}}{_FILE}:{_LINE}{_COL}(?: \+0x|: |$)", "\t/app/main.go:5 +0x1d"),
    _place("ruby", ":in ", rf"^\s{{0,4}}(?:#\s|from )?{_FILE}:{_LINE}:in ", "a.rb:2:in `f': x"),
    _place("rspec", "# ./", rf"^\s{{0,8}}# {_FILE}:{_LINE}", "     # ./spec/a_spec.rb:3:in `block'"),
    _place("julia", "@ ", rf"@ (?:[A-Z]\w{{0,40}} )?{_FILE}:{_LINE}", "   @ /app/a.jl:3"),
    _place("dart", " main", rf"^\s{{0,8}}{_FILE} {_LINE}:(?P<col>\d{{1,6}})\s{{1,8}}\S", "  test/calc_test.dart 9:5  main.<fn>"),
    _place("sass", "stylesheet", rf"^\s{{0,8}}{_FILE} {_LINE}:(?P<col>\d{{1,6}})\s{{1,8}}root stylesheet", "  a.scss 1:13  root stylesheet"),
    _place("webpack", "error in ", rf"^ERROR in {_FILE} {_LINE}:(?P<col>\d{{1,6}})", "ERROR in ./a.js 1:0-26"),
    _place("shell", ": line 0", rf"^(?P<file>(?!(?:ba|z|da|k)?sh:)[^\s:]{{1,120}}): line {_LINE}: ", "deploy.sh: line 3: x: command not found"),
    _place("shell.de", "zeile 0", rf"^(?P<file>[^\s:]{{1,120}}): Zeile {_LINE}: ", "d.sh: Zeile 2: x"),
    _place("shell.fr", "ligne 0", rf"^(?P<file>[^\s:]{{1,120}}): ligne {_LINE} ?: ", "d.sh: ligne 2 : x"),
    _place("shell.number", ": 0", rf"^{_FILE}: {_LINE}: \S", "a.sh: 2: DEPLOY_ENV: parameter not set"),
    _place("shell.bracket", "(line 0", rf"^{_FILE} \(line {_LINE}\): \S", "a.fish (line 1): Missing end"),
    _place("on_line", " line 0", rf"(?:\bin|\bat|\bon|\bIn|\bfile) (?:file )?['\"]?{_FILE}['\"]?,?:? (?:on )?line {_LINE}", "x in /app/a.php on line 3"),
    _place("in_line", "line 0", rf"(?:^|\s){_FILE}: .{{0,80}}\b(?:in|at|on) line {_LINE}\b", "Error: a.dot: syntax error in line 1 near ';'"),
    _place("comma", ", line 0", rf"{_FILE}\"?, line {_LINE}\b", '"./a.cpp", line 2: error #5:', joint=_COMMA_LINE),
    _place("quoted_line", " line 0", rf"['\"]{_FILE}['\"],? line {_LINE}\b", '"plot.gp" line 2: undefined function: sinus'),
    _place("line_colon", " line: 0", rf"(?:^|\s)['\"]?{_FILE}['\"]?,? [Ll]ine: {_LINE}\b", "source: l.conf line: 3 pos: 0 parser failed"),
    _place("file_line_col", ": line 0", rf"^{_FILE}: line {_LINE}, col", "src/cart.js: line 14, col 8, Missing semicolon."),
    _place("comma_alone", ", 0", rf"^{_FILE}, {_LINE}$", "rtl/fifo.sv, 31"),
    _place("ksh", "[0", rf"^(?:\w{{1,6}}: )?{_FILE}\[{_LINE}\]: ", "E: s.ksh[3]: release_tag: parameter not set"),
    _place("dotted", ":0", rf"^\s{{0,12}}{_FILE}:{_LINE}\.(?P<col>\d{{1,6}})(?:-\d|:|$)", "/app/m.mzn:2.16-17"),
    _place("yaml", "line 0", rf"in ['\"]{_FILE}['\"](?:,|:) line {_LINE}", "The error appears to be in '/a/b.yml': line 3, column 5"),
    _place("from_line", "line 0", rf"line {_LINE} (?:of|in) (?:the )?(?:file )?['\"]?{_FILE}", "x (from line 2 of requirements.txt)"),
    _place("in_colon", " in ", rf" in {_FILE}:{_LINE}\b", "Uncaught Error: x in /app/a.php:2"),
    _place("tuple", '", 0', rf"\(\"{_FILE}\", {_LINE}, (?P<col>\d{{1,6}})\)", 'Exception: Assert_failure ("./a.ml", 1, 9).'),
    _place("makefile", "file:0", rf"^{_NAMED}:{_LINE}: (?:\*\*\*|\S)", "Makefile:2: *** missing separator.  Stop.", joint=_NAMED_COLON),
    _place("named.comma", "e, line 0", rf"\b{_NAMED}, line {_LINE}\b", "in file /app/Snakefile, line 3:"),
    _place("dockerfile", ":0", rf"(?:^\s{{0,8}}|: ){_NAMED}:{_LINE}\b", "Dockerfile:3 DL3008 warning: x", joint=_NAMED_COLON),
    _place("parenthesis", ":0", rf"\({_URL}{_FILE}:{_LINE}{_COL}\)", "(src/app/core.clj:3:1)"),
    _place("plain", ":0", rf"^\s{{0,12}}[^\w\n/.]{{0,6}}(?:[\w-]{{1,20}}: ){{0,2}}{_URL}{_FILE}:{_LINE}{_COL}(?![\w.])", "./main.go:5:2: undefined: x"),
    _place("generic", ":0", rf"(?<![\w/.\\@-]){_URL}{_FILE}:{_LINE}{_COL}(?![\w.])", "see src/a.ts:3:5 for more"),
    _place("bracket", "(0", rf"(?<![\w/.\\@-]){_FILE}\({_LINE}(?:[,:] ?(?P<col>\d{{1,6}}))?\)", "x.d(3): Error: y", joint=_BRACKET),
)  # fmt: skip

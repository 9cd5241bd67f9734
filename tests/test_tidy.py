"""The rules of the code as tests: imports point down, a pure core, one writer, short functions, no leftovers.

Each rule is a function from a parsed module to what is wrong with it, so that the rules are tested as well.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FUNCTION_LINES_MAX = 40
MODULE_LINES_MAX = 600
CHAPTER_LINES_MAX = 60

# Over-long functions that are tolerated for now, as `path:name`. The list only shrinks.
TOLERATED: frozenset[str] = frozenset()

# Public functions that nothing in the package calls: they are there for users. The list only shrinks.
FOR_USERS: frozenset[str] = frozenset()

# What each part may import. `errors` everybody may; a part may import itself.
BELOW_ENGINE = {"service", "store", "core", "runners", "places", "integrations", "env", "foreign"}
BELOW_APP = BELOW_ENGINE | {"config", "engine"}
BELOW_CLI = BELOW_APP | {"app", "bay", "areas", "sim", "drill", "web", "mcp", "views", ""}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "foreign": set(),
    "env": set(),
    "core": set(),
    "views": {"core"},
    "store": {"core", "env"},
    "service": {"store", "core", "env"},
    "places": {"core", "env", "foreign"},  # a runner describes, the place starts: places know no runner
    "runners": {"places", "core", "env", "foreign"},
    "integrations": {"places", "views", "core", "env", "foreign"},
    "config": {"core", "foreign"},
    "engine": BELOW_ENGINE | {"config"},
    "function": {"core"},
    "app": BELOW_APP,
    "wiring": BELOW_APP | {"app"},
    "bay": BELOW_APP | {"app", "wiring", "views", "areas"},
    "areas": BELOW_APP | {"app", "wiring", "bay", "views"},  # the Bay by subject: imported by it when they are used
    "sim": BELOW_APP | {"app", "bay", ""},
    "drill": {"core", "env", "sim"},  # it calls the real commands, and reads what they print
    "web": {"core", "app", "bay", "areas", "views", "config", "env", ""},
    "mcp": {"core", "app", "bay", "areas", "views", "config", "env", ""},
    "cli": BELOW_CLI,
    "": BELOW_APP | {"app", "bay", "function"},  # medbay/__init__.py
    "__main__": {"cli"},
}

IMPURE = frozenset(
    "time random secrets uuid os io subprocess sqlite3 logging socket threading multiprocessing asyncio "
    "signal sys tempfile shutil glob select selectors urllib http requests psycopg click rich".split()
)
PURE_PATHS = frozenset({"PurePath", "PurePosixPath", "PureWindowsPath"})
SQL = re.compile(
    r"\s*(SELECT\s|INSERT\s+(OR\s+\w+\s+)?INTO\s|UPDATE\s+\S+\s+SET\s|DELETE\s+FROM\s|WITH\s+\w+\s+AS\s"
    r"|(CREATE|DROP|ALTER)\s+(TABLE|INDEX|UNIQUE)\s|PRAGMA\s|BEGIN\s+IMMEDIATE|SAVEPOINT\s)"
)
SETS_STATUS = re.compile(
    r"UPDATE\s+(?:task|retry|question|story|workorder|capture|candidate)\s+SET\s+"
    r"(?:(?!\bWHERE\b).)*?(?:\bstatus\s*=|\{\})",
    re.DOTALL | re.IGNORECASE,
)
WRITER = "medbay/store/apply.py"
FORBIDDEN_NAMES = frozenset({"utils", "util", "helpers", "helper", "manager", "misc", "common"})
LEFTOVER = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" * 3)) + r")\b")
MACHINE = re.compile(r"(?<![\w.$}-])/(" + "|".join(("wo" + "rk", "ro" + "ot")) + r")/")
REGISTRY = re.compile(r"pypi\.org|pythonhosted\.org|npmjs\.(org|com)|debian\.org|docker\.io|/opt/(pypi|wheels)")
TEXT_FILES = frozenset(".py .sql .md .toml .txt .yaml .yml .json .jsonl .js .css .html .sh .cfg .ini".split())


@dataclass(frozen=True, slots=True)
class Module:
    """A parsed file: its path from the root, its text and its tree."""

    path: str
    text: str
    tree: ast.Module

    @property
    def part(self) -> str:
        """The part of the package it belongs to: a folder, or the name of a file at the top."""
        first = self.path.removeprefix("medbay/").split("/")[0].removesuffix(".py")
        return "" if first == "__init__" else first


Rule = Callable[[Module], Iterator[str]]


def parse(path: str, text: str) -> Module:
    """The module at a path with this text."""
    return Module(path, text, ast.parse(text, path))


@cache
def modules(folder: str) -> tuple[Module, ...]:
    """Every module below a folder."""
    found = sorted((ROOT / folder).rglob("*.py"))
    return tuple(parse(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) for path in found)


@cache
def tracked() -> tuple[Path, ...]:
    """Every text file that is, or is about to be, part of the project."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        pytest.skip("not a git checkout")
    paths = (ROOT / name for name in sorted(listed.decode().split("\0")) if name)
    return tuple(
        path for path in paths if path.is_file() and (path.suffix in TEXT_FILES or path.name in ("Makefile", "run"))
    )


# The rules


def imports_point_down(module: Module) -> Iterator[str]:
    """`cli | web | sim -> engine -> service -> store -> core`; `engine -> runners -> places -> core`."""
    allowed = MAY_IMPORT.get(module.part)
    if allowed is None:
        yield f"{module.path}: a new part; say in MAY_IMPORT what it may import"
        return
    for line, name in imported(module.tree):
        package, _, rest = name.partition(".")
        part = rest.split(".")[0]
        if package == "medbay" and part not in {*allowed, module.part, "errors"}:
            yield f"{module.path}:{line}: {module.part or 'medbay'} may not import {name}"


def core_is_pure(module: Module) -> Iterator[str]:
    """No clock, randomness, files, processes or logging in the core, nor in the views."""
    if module.part not in ("core", "views"):
        return
    for line, name in imported(module.tree):
        top, _, rest = name.partition(".")
        if top in IMPURE or (top == "pathlib" and rest not in PURE_PATHS):
            yield f"{module.path}:{line}: {module.part} may not import {name}"
    for node in ast.walk(module.tree):
        match node:
            case ast.Call(func=ast.Name(id="open" | "print" | "input" | "eval" | "exec" as name)):
                yield f"{module.path}:{node.lineno}: {module.part} may not call {name}()"
            case ast.Attribute(value=ast.Name(id="datetime" | "date"), attr="now" | "utcnow" | "today"):
                yield f"{module.path}:{node.lineno}: {module.part} may not read the clock"


def randomness_is_handed_in(module: Module) -> Iterator[str]:
    """Randomness comes from `env` alone, and what the simulator runs reads no clock of its own."""
    if module.path == "medbay/env.py":
        return
    for line, name in imported(module.tree):
        if name.split(".")[0] in ("random", "secrets", "uuid"):
            yield f"{module.path}:{line}: only medbay/env.py may import {name}"
    if module.part not in ("service", "store", "engine", "sim", "bay"):
        return
    for node in ast.walk(module.tree):
        match node:
            case ast.Attribute(value=ast.Name(id="time"), attr="time" | "time_ns" | "monotonic" as attr):
                yield f"{module.path}:{node.lineno}: time.{attr} belongs to the clock that is handed in"
            case ast.Attribute(value=ast.Name(id="datetime" | "date"), attr="now" | "utcnow" | "today"):
                yield f"{module.path}:{node.lineno}: the time belongs to the clock that is handed in"


def sql_is_in_the_store(module: Module) -> Iterator[str]:
    """No statement and no driver outside `medbay/store`."""
    if module.part == "store":
        return
    for line, name in imported(module.tree):
        if name.split(".")[0] in ("sqlite3", "psycopg"):
            yield f"{module.path}:{line}: only the store may import {name}"
    for line, text in texts(module.tree):
        if SQL.match(text):
            yield f"{module.path}:{line}: SQL outside the store: {text.strip()[:40]!r}"


def status_has_one_writer(module: Module) -> Iterator[str]:
    """The status of a task, retry or question is written in one module."""
    if module.path == WRITER:
        return
    for line, text in texts(module.tree):
        if SETS_STATUS.search(text):
            yield f"{module.path}:{line}: a status may be written in {WRITER} only"


def functions_are_short(module: Module) -> Iterator[str]:
    """A function has a limited number of lines, docstring, comments and blank lines not counted."""
    for name, node, size in sized_functions(module):
        if size > FUNCTION_LINES_MAX and f"{module.path}:{name}" not in TOLERATED:
            yield f"{module.path}:{node.lineno}: {name} has {size} lines (at most {FUNCTION_LINES_MAX})"


def modules_are_short(module: Module) -> Iterator[str]:
    """A module has a limited number of lines."""
    size = module.text.count("\n")
    if size > MODULE_LINES_MAX:
        yield f"{module.path}: {size} lines (at most {MODULE_LINES_MAX})"


def names_mean_something(module: Module) -> Iterator[str]:
    """A file is a noun of the domain."""
    parts = {part.removesuffix(".py").strip("_") for part in module.path.split("/")}
    for name in sorted(parts & FORBIDDEN_NAMES):
        yield f"{module.path}: {name!r} says nothing about what is in it"


def everything_public_is_described(module: Module) -> Iterator[str]:
    """Every module, public class and public function has a docstring."""
    if not ast.get_docstring(module.tree):
        yield f"{module.path}: the module has no docstring"
    for node in module.tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            overload = any("overload" in ast.unparse(decorator) for decorator in node.decorator_list)
            if not node.name.startswith("_") and not overload and not ast.get_docstring(node):
                yield f"{module.path}:{node.lineno}: {node.name} has no docstring"


def each_test_is_described(module: Module) -> Iterator[str]:
    """Every test has a docstring of one line."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            told = ast.get_docstring(node) or ""
            if not told or "\n" in told:
                yield f"{module.path}:{node.lineno}: {node.name} needs a docstring of one line"


PACKAGE_RULES: tuple[Rule, ...] = (
    imports_point_down,
    core_is_pure,
    randomness_is_handed_in,
    sql_is_in_the_store,
    status_has_one_writer,
    functions_are_short,
    modules_are_short,
    names_mean_something,
    everything_public_is_described,
)


# The rules applied


@pytest.mark.parametrize("rule", PACKAGE_RULES, ids=lambda rule: rule.__name__)
def test_the_package_keeps_the_rule(rule: Rule) -> None:
    """Every module of the package, one rule at a time."""
    expect_none(problem for module in modules("medbay") for problem in rule(module))


def test_every_test_says_in_one_line_what_it_shows() -> None:
    """Names and docstrings of the tests read as a list of promises."""
    expect_none(problem for module in modules("tests") for problem in each_test_is_described(module))


def test_the_list_of_tolerated_functions_only_shrinks() -> None:
    """An entry that is short enough by now, or gone, has to leave the list."""
    long = {
        f"{module.path}:{name}"
        for module in modules("medbay")
        for name, _, size in sized_functions(module)
        if size > FUNCTION_LINES_MAX
    }

    expect_none(f"{name}: take it off TOLERATED" for name in sorted(TOLERATED - long))


def test_no_feature_is_without_a_caller() -> None:
    """Every public function of core, service and store is used by the package, or is there for users."""
    uses = Counter(name for module in modules("medbay") for name in named(module.tree))
    uncalled = {
        f"{module.path}:{node.name}"
        for module in modules("medbay")
        if module.part in ("core", "views", "service", "store")
        for node in module.tree.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
        if uses[node.name] <= sum(name == node.name for name in named(node))
    }

    expect_none(f"{name}: nothing calls it" for name in sorted(uncalled - FOR_USERS))
    expect_none(f"{name}: take it off FOR_USERS" for name in sorted(FOR_USERS - uncalled))


def test_every_decision_is_in_the_index_by_number() -> None:
    """A page that nothing leads to is not read."""
    docs = ROOT / "docs"
    listed = re.findall(r"\]\(decisions/(\S+\.md)\)", (docs / "index.md").read_text(encoding="utf-8"))

    assert listed == sorted(each.name for each in (docs / "decisions").glob("*.md"))


def test_nothing_is_left_for_later_in_the_text() -> None:
    """What is not done is not in the code."""
    expect_none(found_in(LEFTOVER, [path for path in tracked() if not is_test_data(path)]))


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    """No path of one machine, no address of a package registry; recorded outputs included."""
    own = list(tracked())
    exempt = (ROOT / "tests" / "test_tidy.py", ROOT / "medbay" / "core" / "diagnosis" / "provider.py")

    expect_none(found_in(MACHINE, own))
    expect_none(found_in(REGISTRY, [path for path in own if not any(map(path.is_relative_to, exempt))]))


# The rules themselves


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        (imports_point_down, "medbay/core/x.py", "from medbay.store import y"),
        (imports_point_down, "medbay/core/x.py", "from medbay import env"),
        (imports_point_down, "medbay/core/x.py", "def f():\n    import medbay.cli.y"),
        (imports_point_down, "medbay/runners/x.py", "import medbay.store.tasks"),
        (imports_point_down, "medbay/places/x.py", "import medbay.runners.report"),
        (imports_point_down, "medbay/service/x.py", "from medbay.engine.tick import tick"),
        (imports_point_down, "medbay/surprise/x.py", ""),
        (core_is_pure, "medbay/core/x.py", "import os.path"),
        (core_is_pure, "medbay/core/x.py", "from pathlib import Path"),
        (core_is_pure, "medbay/core/x.py", "open('x')"),
        (core_is_pure, "medbay/views/x.py", "import os"),
        (imports_point_down, "medbay/views/x.py", "from medbay.service import explain"),
        (core_is_pure, "medbay/core/x.py", "from datetime import datetime\ndatetime.now()"),
        (randomness_is_handed_in, "medbay/cli/x.py", "from uuid import uuid4"),
        (randomness_is_handed_in, "medbay/engine/x.py", "import time\ntime.monotonic()"),
        (sql_is_in_the_store, "medbay/engine/x.py", "run('SELECT 1 FROM task')"),
        (sql_is_in_the_store, "medbay/engine/x.py", "run(f'UPDATE {table} SET x = 1')"),
        (sql_is_in_the_store, "medbay/engine/x.py", "import sqlite3"),
        (status_has_one_writer, "medbay/store/x.py", "run('UPDATE task SET a = 1, status = ? WHERE id = ?')"),
        (status_has_one_writer, "medbay/store/x.py", "run(f'UPDATE task SET {sets} WHERE id = ?')"),
        (functions_are_short, "medbay/x.py", "def f():\n" + "    pass\n" * 41),
        (modules_are_short, "medbay/x.py", "\n" * (MODULE_LINES_MAX + 1)),
        (names_mean_something, "medbay/core/utils.py", ""),
        (everything_public_is_described, "medbay/x.py", "'''Fine.'''\ndef f(): pass"),
        (everything_public_is_described, "medbay/x.py", "x = 1"),
        (each_test_is_described, "tests/x.py", "def test_x():\n    '''One.\n\n    Two.\n    '''"),
    ],
)
def test_a_rule_finds_what_it_is_there_for(rule: Rule, path: str, text: str) -> None:
    """Each rule catches a planted mistake."""
    assert list(rule(parse(path, text)))


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        (
            imports_point_down,
            "medbay/core/x.py",
            "from medbay.errors import UsageError\nimport medbay.core.y",
        ),
        (imports_point_down, "medbay/cli/x.py", "from medbay.bay import open\nimport medbay"),
        (core_is_pure, "medbay/core/x.py", "from pathlib import PurePath\nfrom datetime import datetime"),
        (core_is_pure, "medbay/store/x.py", "import os"),
        (sql_is_in_the_store, "medbay/cli/x.py", "'Select a task: UPDATE it'"),
        (sql_is_in_the_store, "medbay/cli/x.py", "def f():\n    '''SELECT is SQL.'''"),
        (status_has_one_writer, "medbay/store/x.py", "run('UPDATE task SET a = 1 WHERE status = ?')"),
        (
            functions_are_short,
            "medbay/x.py",
            "def f():\n    '''" + "x\n" * 60 + "'''\n" + "    pass\n\n" * 40,
        ),
        (everything_public_is_described, "medbay/x.py", "'''Fine.'''\ndef _f(): pass"),
    ],
)
def test_a_rule_lets_pass_what_is_right(rule: Rule, path: str, text: str) -> None:
    """No rule complains about its neighbours."""
    assert not list(rule(parse(path, text)))


# What the rules look at


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every imported name in full with its line, wherever the import stands."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from ((node.lineno, alias.name) for alias in node.names)
            case ast.ImportFrom():
                yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every text of the code with its line, `{}` for what is filled in; docstrings excepted."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                skipped.add(id(node.value))
            case ast.JoinedStr():
                skipped.update(map(id, node.values))
                parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
                yield node.lineno, "".join(map(str, parts))
            case ast.Constant(value=str(text)) if id(node) not in skipped:
                yield node.lineno, text


def named(tree: ast.AST) -> Iterator[str]:
    """Every name that is used: read, called, reached through a module, or imported under another name."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                yield name
            case ast.Attribute(attr=name):
                yield name
            case ast.alias(name=name, asname=str()):
                yield name


def sized_functions(module: Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef, int]]:
    """Every function with its qualified name and its lines of code."""
    lines = module.text.splitlines()

    def visit(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef, int]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{prefix}{child.name}"
                if not isinstance(child, ast.ClassDef):
                    yield name, child, code_lines(child, lines)
                yield from visit(child, f"{name}.")
            else:
                yield from visit(child, prefix)

    return visit(module.tree, "")


def code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> int:
    """The lines of a function's body without docstring, comments and blank lines."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    if not body:
        return 0
    inside = (line.strip() for line in lines[body[0].lineno - 1 : node.end_lineno])
    return sum(1 for line in inside if line and not line.startswith("#"))


def found_in(pattern: re.Pattern[str], paths: list[Path]) -> Iterator[str]:
    """Every place in the files where the pattern is found."""
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if found := pattern.search(line):
                yield f"{path.relative_to(ROOT)}:{number}: {found[0]!r}"


def is_test_data(path: Path) -> bool:
    """Whether a file is a sample that tests read: what programs of others printed."""
    return path.is_relative_to(ROOT / "tests") and path.suffix != ".py"


def expect_none(problems: Iterator[str]) -> None:
    """Fail with the list of problems, if there are any."""
    found = list(problems)
    assert not found, "\n" + "\n".join(found)


def test_a_class_name_has_one_meaning() -> None:
    """One class name, one meaning: no two public classes of the package share a name."""
    named = Counter(
        node.name
        for module in modules("medbay")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )

    assert [name for name, times in named.items() if times > 1] == []


def test_no_module_is_a_chapter_of_its_neighbour() -> None:
    """A short module that only one module beside it imports belongs into that one; programs may be short."""
    names = {module.path.removesuffix(".py").replace("/", "."): module for module in modules("medbay")}
    importers: dict[str, set[str]] = {name: set() for name in names}
    for name, module in names.items():
        for _, imports in imported(module.tree):
            target = imports if imports in names else imports.rpartition(".")[0]
            if target in names and target != name:
                importers[target].add(name)
    short = [
        name
        for name, by in importers.items()
        if len(by) == 1
        and {name.rpartition(".")[0]} == {each.rpartition(".")[0] for each in by}
        and names[name].text.count("\n") < CHAPTER_LINES_MAX
        and "__main__" not in names[name].text
    ]

    assert short == []

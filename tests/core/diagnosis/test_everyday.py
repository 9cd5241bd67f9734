"""Everyday failures as a newcomer meets them: the kind, what the summary names, and advice that fits."""

from __future__ import annotations

import pytest

from medbay.core.diagnosis.consequences import advice_for
from medbay.core.diagnosis.course import last_step
from medbay.core.diagnosis.text import clean
from tests.core.diagnosis.samples import why

_NODE = "node:internal/modules/cjs/loader:1228\n  throw err;\n  ^\n\n"


def test_a_remark_about_the_terminal_is_no_cause() -> None:
    """Ssh remarks that it has no terminal, and then says what went wrong."""
    found = why(
        "Pseudo-terminal will not be allocated because stdin is not a terminal.\n"
        "ssh: connect to host db port 9: Connection refused\n",
        exit_code=255,
    )

    assert found.kind == "transient/network"
    assert "Connection refused" in found.summary


@pytest.mark.parametrize(
    "text",
    [
        "urllib.error.HTTPError: HTTP Error 404: Not Found",
        "Error 404: not found",
        "user 42: not found",
        "ValueError: order: not found",
        "customer acme: not found",
    ],
)
def test_what_is_not_found_is_not_always_a_command(text: str) -> None:
    """Only a shell's own sentence is about a command."""
    found = why(text)

    assert found.kind == "dependency_missing/file"
    assert "Install" not in found.suggested_fix
    assert text in found.summary


@pytest.mark.parametrize("exit_code", [1, 127])
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("sh: 1: ansible-playbook: not found", "ansible-playbook"),
        ("/bin/sh: tslintx: not found", "tslintx"),
        ("./run: 3: tslintx: not found", "tslintx"),
        ("ksh[3]: tslintx: not found", "tslintx"),
        ("bash: line 1: foo-x: command not found", "foo-x"),
        ("zsh: command not found: foo-x", "foo-x"),
        ("fish: Unknown command: foo-x", "foo-x"),
        ("make: nope-cmd: No such file or directory\nmake: *** [Makefile:2: all] Error 127", "nope-cmd"),
        ("env: 'python2': No such file or directory", "python2"),
        ("/usr/bin/env: ‘python2’: No such file or directory", "python2"),
        ("timeout: failed to run command 'nope': No such file or directory", "nope"),
    ],
)
def test_a_missing_command_is_named(text: str, name: str, exit_code: int) -> None:
    """Whatever starts it, and whether or not the exit status says so too."""
    found = why(text, exit_code=exit_code)

    assert found.kind == "dependency_missing/command"
    assert found.summary.startswith(f"Command missing: {name}")
    assert found.suggested_fix.startswith(f"Install {name} or correct the PATH")


def test_a_missing_script_keeps_its_path() -> None:
    """The dot before the slash belongs to the name, and a path is not installed."""
    found = why("sh: 1: ./ni.sh: not found", exit_code=127)

    assert found.kind == "dependency_missing/command"
    assert found.summary == "Command missing: ./ni.sh"
    assert found.suggested_fix.startswith("Create ./ni.sh")
    assert "./x.sh" in why("bash: ./x.sh: No such file or directory", exit_code=127).summary


def test_a_missing_library_is_named_although_the_status_is_that_of_a_missing_command() -> None:
    """The loader ends with 127, too."""
    found = why(
        "./x: error while loading shared libraries: libq.so.1: cannot open shared object file: No such file",
        exit_code=127,
    )

    assert found.kind == "dependency_missing/library"
    assert "library or header libq.so.1" in found.suggested_fix


@pytest.mark.parametrize(
    "text",
    [
        'psql: error: connection to server on socket "/run/pg/.s.PGSQL.5432" failed: No such file or directory\n'
        "\tIs the server running locally and accepting connections on that socket?",
        "ERROR 2002 (HY000): Can't connect to local MySQL server through socket '/run/mysqld/mysqld.sock' (2)",
        "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
        "Could not connect to Redis at /run/redis.sock: No such file or directory",
        "redis.exceptions.ConnectionError: Error 2 connecting to unix socket: /run/r.sock. No such file or directory.",
        "Error: connect ENOENT /var/run/docker.sock",
        "dial unix /var/run/docker.sock: connect: no such file or directory",
    ],
)
def test_a_socket_that_is_not_there_is_a_service_that_does_not_run(text: str) -> None:
    """As a refused connection is: no file of the project is missing."""
    found = why(text)

    assert found.kind == "transient/service"
    assert found.suggested_fix.startswith("Start the ")


@pytest.mark.parametrize(
    "text",
    [
        "gzip: stdin: unexpected end of file\ntar: Unexpected EOF in archive\ntar: Error is not recoverable",
        "gzip: a.gz: unexpected end of file",
        "  End-of-central-directory signature not found.  Either this file is not\n  a zipfile, or it is one disk.",
        "xz: a.xz: Unexpected end of input",
        "zstd: a.zst : Read error (39) : premature end",
        "EOFError: Compressed file ended before the end-of-stream marker was reached",
    ],
)
def test_a_truncated_archive_is_to_be_fetched_again(text: str) -> None:
    """No syntax is wrong in it."""
    found = why(text)

    assert found.kind == "code_error/data"
    assert "fetch or make it again" in found.suggested_fix


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (_NODE + "Error: Cannot find module './util'\nRequire stack:\n- /app/a.js", "./util"),
        (_NODE + "Error: Cannot find module '/app/nope.js'", "/app/nope.js"),
        ("Module not found: Error: Can't resolve '../nope' in '/app/src'", "../nope"),
    ],
)
def test_a_path_of_the_project_is_no_package(text: str, name: str) -> None:
    """It has to be written, not installed."""
    found = why(text)

    assert found.kind == "dependency_missing/file"
    assert found.suggested_fix == f"Create {name} in the project, or correct the path that asks for it."
    assert why(_NODE + "Error: Cannot find module 'lodash'").suggested_fix.startswith("Add lodash to")


@pytest.mark.parametrize(
    "text",
    [
        "no tests ran in 0.00s\nERROR: file or directory not found: nope.c",
        "cc1: fatal error: nope.c: No such file or directory\ncompilation terminated.",
        "gcc: error: nope.c: No such file or directory\ngcc: fatal error: no input files\ncompilation terminated.",
    ],
)
def test_a_missing_source_is_no_library(text: str) -> None:
    """Nothing is to be installed."""
    found = why(text)

    assert found.kind == "dependency_missing/file"
    assert found.suggested_fix in ("Create nope.c or correct the path to it.", advice_for("dependency_missing", "file"))
    assert "nope.c" in found.summary


def test_malformed_input_of_a_program_is_not_an_agents_answer() -> None:
    """The advice speaks of the input; where an answer was rejected, of the answer."""
    assert why("json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)").suggested_fix.startswith(
        "Look at the input"
    )
    assert why("agent output rejected: 2 validation errors for T").suggested_fix.startswith("State the required form")


@pytest.mark.parametrize(
    "text",
    [
        'ERROR:  relation "users" does not exist\nLINE 1: select * from users;',
        "Error: in prepare, no such table: nope",
        "ERROR 1146 (42S02) at line 1: Table 'x.users' doesn't exist",
    ],
)
def test_a_missing_table_is_to_be_created(text: str) -> None:
    """No types disagree."""
    found = why(text)

    assert found.kind == "code_error/sql"
    assert found.suggested_fix.startswith("Create the table")


def test_a_warning_before_the_failure_is_no_cause() -> None:
    """Npm warns before every script; Terraform about its own settings, in several lines."""
    npm = 'npm warn Unknown user config "python". This will stop working in the next major version of npm.\n\n'
    terraform = (
        "\nWarning: Unable to open CLI configuration file\n\n"
        'The CLI configuration file at "/home/dev/.terraformrc" does not exist.\n\n\n'
    )

    assert why(npm + "> x@1.0.0 build\n> exit 1\n").kind == "unknown"
    assert why(npm + "> x@1.0.0 build\n> node b.js\n\nb.js:3:5: error: odd\n").kind == "code_error/compile"
    found = why(terraform + "Error: No configuration files\n\nApply requires configuration to be present.\n")
    assert found.kind == "code_error/config"
    assert "No configuration files" in found.summary


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "a.c:3:10: error: 'y' undeclared (first use in this function)\n    3 |   return y;\n      |          ^\n"
            "a.c:3:10: note: each undeclared identifier is reported only once for each function it appears in\n",
            "'y' undeclared (first use",
        ),
        ("FAILED test_x.py::test_y - AssertionError: assert 1 == 2\n2 failed in 3.01s\n", "test_x.py::test_y - Assert"),
        ("--- FAIL: TestAdd (0.00s)\n    x_test.go:6: got 3, want 4\nFAIL\nFAIL\tx\t0.008s\nFAIL\n", "TestAdd"),
    ],
)
def test_the_summary_carries_the_line_that_says_it(text: str, said: str) -> None:
    """Not a note after it, nor the count at the end."""
    found = why(text)

    assert said in found.summary
    assert found.pattern.excerpt in text
    assert "once for each" not in found.pattern.excerpt


def test_a_closing_count_is_shown_where_no_test_is_named() -> None:
    """Better than nothing."""
    assert why("2 tests failed, 3 passed").pattern.excerpt == "2 tests failed"


def test_silence_and_bytes_are_told_as_such() -> None:
    """There is no end of a log to read, and nobody reads bytes."""
    assert why("").suggested_fix.startswith("It printed nothing")
    assert why("\n\n").suggested_fix.startswith("It printed nothing")
    assert why("odd\n").suggested_fix.startswith("Read the end of the log")
    found = why(b"\x7fELF\x02" + bytes(range(128, 256)) * 8)
    assert found.summary == "Unknown failure: binary output"
    assert found.suggested_fix.startswith("It printed nothing readable")


def test_the_trace_of_a_ci_service_is_no_trace_of_one_script() -> None:
    """It has those of many, and of what cleans up."""
    traced = "+ make\n+ make check\n+ make dist\nconnect ECONNREFUSED 10.0.0.7:5432\n"

    assert last_step(clean(traced)) > 0
    assert last_step(clean(f"##[group]build\n{traced}")) == 0


@pytest.mark.parametrize(
    "said",
    [
        "TOKEN is not set in the environment of the daemon, and --env-from asks for it",
        "cannot read the file of variables /etc/job.env: No such file or directory",
    ],
)
def test_variables_that_cannot_be_given_are_a_persons(said: str) -> None:
    """No retry brings them."""
    found = why("", exit_code=None, spawn_error=said)

    assert (found.kind, found.retryable) == ("code_error/config", False)

"""Rules that know one tool's exact words where the families would misread it, and sockets on the same machine."""

from __future__ import annotations

from typing import Final

from medbay.core.diagnosis.rule import EXACT, VERDICT, Rule, rule

RULES: Final[tuple[Rule, ...]] = (
    rule(
        "make.no_rule",
        "dependency_missing/file",
        r"no rule to make target [`'‘](?P<what>[^'’\n]{1,120})",
        tool="make",
        hit="make: *** No rule to make target 'x.o', needed by 'app'.  Stop.",
        miss="make: *** [Makefile:5: test] Error 1",
        level=EXACT + 0.5,
    ),
    rule(
        "elixir.undefined_module",
        "code_error/runtime",
        r"\(UndefinedFunctionError\)",
        tool="elixir",
        hit="** (UndefinedFunctionError) function Foo.bar/0 is undefined",
        miss="undefined",
        level=EXACT,
    ),
    rule(
        "python.circular_import",
        "code_error/runtime",
        "partially initialized module",
        "circular import",
        tool="python",
        hit="ImportError: cannot import name 'f' from partially initialized module 'a'",
        miss="imports are circularly safe",
        level=EXACT + 1.0,
    ),
    rule(
        "go.test_build",
        "code_error/compile",
        r"^FAIL\s{1,8}\S{1,200} \[build failed\]",
        tool="go",
        on="build",
        hit="FAIL\texample.com/x [build failed]",
        miss="FAIL\texample.com/x 0.1s",
        level=VERDICT + 0.3,
        in_code=True,
        confidence=0.93,
    ),
    rule(
        "kubernetes.backoff",
        "dependency_missing/package",
        "ImagePullBackOff",
        "ErrImagePull",
        tool="kubectl",
        hit="Back-off pulling image: ImagePullBackOff",
        miss="image pulled",
        confidence=0.85,
    ),
    rule(
        "net.socket",
        "transient/service",
        r"(?:could not|couldn't|cannot|can't|unable to|failed to) connect\b.{0,120}no such file or directory",
        r"error connecting\b.{0,120}no such file or directory",
        r"connect\w{0,4}\b.{0,120}(?:sock|socket|unix)\b.{0,120}no such file or directory",
        r"dial unix \S{1,120}: connect: no such file or directory",
        r"connect enoent \S",
        "connect to local (?:\\w+ )?server through socket",
        "is the server running locally and accepting connections on",
        hit=(
            "Failed to connect to bus: No such file or directory",
            "Error connecting to agent: No such file or directory",
            'connection to server on socket "/run/x/.s.PGSQL.5432" failed: No such file or directory',
        ),
        miss="connected; cat: x: No such file or directory",
        advice="Start the service that listens on this socket, or correct the path of the socket; then try again.",
        level=EXACT + 0.3,
        confidence=0.9,
    ),
    rule(
        "docker.daemon",
        "transient/service",
        "cannot connect to the docker daemon",
        tool="docker",
        hit="Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
        miss="docker daemon connected",
        advice="Start the Docker daemon, or correct the address of it; then try again.",
        level=EXACT + 0.5,
    ),
)

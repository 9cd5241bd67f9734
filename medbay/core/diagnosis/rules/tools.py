"""Rules that know one tool's exact words where the families would misread it."""

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
        "docker.daemon",
        "transient/service",
        "cannot connect to the docker daemon",
        tool="docker",
        hit="Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
        miss="docker daemon connected",
        level=EXACT + 0.5,
    ),
)

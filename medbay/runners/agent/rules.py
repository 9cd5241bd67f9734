"""The triage agent that is always there, as a process: the context on stdin, a verdict on stdout."""

from __future__ import annotations

import json
import sys
from typing import Final

from medbay.core.triage.rules_agent import judge

_PROGRAM: Final = (
    "import sys; sys.path.append(sys.argv.pop(1)); from medbay.runners.agent.rules import main; sys.exit(main())"
)


def start_command(package: str) -> tuple[str, ...]:
    """How to start it in a foreign directory: nothing is imported from there."""
    return (sys.executable, "-P", "-c", _PROGRAM, package)


def main() -> int:
    """Judge what is on standard input."""
    print(json.dumps(judge(json.load(sys.stdin))))
    return 0

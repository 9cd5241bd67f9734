"""The agents that are always there, as processes: what is asked on stdin, a verdict or a bundle on stdout."""

from __future__ import annotations

import json
import sys
from typing import Final

from medbay.core.intake import rules_agent as intake
from medbay.core.triage.rules_agent import judge

_PROGRAM: Final = (
    "import sys; sys.path.append(sys.argv.pop(1)); from medbay.runners.agent.rules import main; sys.exit(main())"
)


def start_command(package: str, *words: str) -> tuple[str, ...]:
    """How to start it in a foreign directory: nothing is imported from there. `intake` answers with a bundle."""
    return (sys.executable, "-P", "-c", _PROGRAM, package, *words)


def main() -> int:
    """Judge what is on standard input."""
    said = intake.answer(sys.stdin.read()) if sys.argv[1:] == ["intake"] else judge(json.load(sys.stdin))
    print(json.dumps(said))
    return 0

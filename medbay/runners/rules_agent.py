"""The triage agent that is always there, as a process: the context on stdin, a verdict on stdout."""

from __future__ import annotations

import json
import sys

from medbay.core.triage.rules_agent import judge


def main() -> int:
    """Judge what is on standard input."""
    print(json.dumps(judge(json.load(sys.stdin))))
    return 0


if __name__ == "__main__":
    sys.exit(main())

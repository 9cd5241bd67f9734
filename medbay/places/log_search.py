"""Searching a log by a regular expression, in a process of its own: one that never ends is ended after a while."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from medbay.errors import NotAllowed, UsageError
from medbay.places.log_lines import LogIndex

WITHIN_S: Final = 10.0
PACKAGE: Final = str(Path(__file__).parents[2])


def by_expression(path: Path, expression: str, *, ignore_case: bool, limit: int) -> tuple[list[int], int]:
    """The numbers of the first lines that match, and how many match in all."""
    try:
        re.compile(expression.encode("utf-8", "replace"))
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(f"this is no regular expression: {error}", hint="search for the text itself") from None
    asked = json.dumps({"path": str(path), "text": expression, "ignore_case": ignore_case, "limit": limit})
    command = [sys.executable, "-m", "medbay.places.log_search"]
    try:
        ran = subprocess.run(
            command, input=asked, capture_output=True, text=True, timeout=WITHIN_S, cwd=PACKAGE, check=True
        )
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        raise NotAllowed(f"this search was not over after {WITHIN_S:g} s", hint="use a simpler expression") from None
    said = json.loads(ran.stdout)
    return said["lines"], said["total"]


def main() -> None:
    """Search as standard input asks, and print what was found."""
    asked = json.load(sys.stdin)
    flags = re.IGNORECASE if asked["ignore_case"] else 0
    pattern = re.compile(asked["text"].encode("utf-8", "replace"), flags)
    index = LogIndex(Path(asked["path"]))
    index.refresh()
    lines, total = index.search(lambda raw: pattern.search(raw) is not None, limit=asked["limit"])
    print(json.dumps({"lines": lines, "total": total}))


if __name__ == "__main__":
    main()

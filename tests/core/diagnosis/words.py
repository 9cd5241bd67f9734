"""Writes down which words lead to which phrases of each rule: `python -m tests.core.diagnosis.words`, or `make words`.

A search needs them all before its first line, and they take far longer to work out than to load.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from medbay.core.diagnosis import rules

WORDS: Final = Path(rules.__file__).with_name("words.py")
HEAD: Final = '''"""Which words lead to which phrases of each rule, worked out beforehand: `make words` writes it.

With each rule a digest of its phrases, then what `Rule.by_word` says; a rule that has changed is worked out again.
"""

from __future__ import annotations

from typing import Final

WORDS: Final[dict[str, str]] = {
'''


def written() -> str:
    """What the file should hold."""
    rows = ((rule.id, f"{rule.digest()} {rule.by_word()}") for rule in rules.RULES)
    return HEAD + "".join(f"    {json.dumps(id)}: {json.dumps(row, ensure_ascii=False)},\n" for id, row in rows) + "}\n"


if __name__ == "__main__":
    WORDS.write_text(written(), encoding="utf-8")

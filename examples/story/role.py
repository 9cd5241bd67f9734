"""The four roles of the example as one plain command, where a real project would have agents.

It is told its role by its first word and its phase by MEDBAY_PHASE, reads what happened so far from MEDBAY_INPUT, works
in the project, and writes its answer to MEDBAY_RESULT. The first implementation has an unused import: the reviewer of
lint refuses it, and the phase `fix` mends it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

GREETING = '''"""Greet people."""


def greet(name: str) -> str:
    """Return a greeting for one person, or for everybody."""
    return f"Hello, {name or 'world'}!"
'''
TEST = """\
from greeting import greet

assert greet("Ada") == "Hello, Ada!"
assert greet("") == "Hello, world!"
print("2 greetings checked")
"""
SHOWN = [
    {"criterion": 1, "shows": "greet('Ada') is checked", "path": "test_greeting.py"},
    {"criterion": 2, "shows": "greet('') is checked", "path": "test_greeting.py"},
]


def pm(context: dict[str, object]) -> dict[str, object]:
    """Write the story."""
    criteria = ["greets a person by name", "greets the world where no name is given", "says what it greets with"]
    return {"verdict": "PASS", "summary": "three criteria", "criteria": criteria}


def qa(context: dict[str, object]) -> dict[str, object]:
    """Audit the story, or try the result."""
    if os.environ["MEDBAY_PHASE"] == "elaborate":
        return {"verdict": "PASS", "summary": "every criterion can be checked"}
    ran = subprocess.run([sys.executable, "test_greeting.py"], capture_output=True, text=True)
    Path("test_output.txt").write_text(ran.stdout, encoding="utf-8")
    shown = [{"criterion": 3, "shows": "the output of the test", "path": "test_output.txt"}]
    return {"verdict": "FAIL" if ran.returncode else "PASS", "summary": ran.stdout.strip(), "evidence": shown}


def dev(context: dict[str, object]) -> dict[str, object]:
    """Write the code; at first with a mistake that a reviewer finds."""
    phase = os.environ["MEDBAY_PHASE"]
    mistake = GREETING.replace('people."""\n', 'people."""\n\nimport os\n', 1)
    Path("greeting.py").write_text(GREETING if phase == "fix" else mistake, encoding="utf-8")
    Path("test_greeting.py").write_text(TEST, encoding="utf-8")
    answer: dict[str, object] = {"verdict": "PASS", "summary": f"{phase}: greeting.py and its test", "evidence": SHOWN}
    if phase == "implement":
        asked = "Which name should the module have?"
        answer["decisions"] = [{"question": asked, "options": ["greeting", "hello"], "default": "greeting"}]
    return answer


def gate(context: dict[str, object]) -> dict[str, object]:
    """Decide about the whole."""
    return {"verdict": "PASS", "summary": "every criterion is shown"}


if __name__ == "__main__":
    with open(os.environ["MEDBAY_INPUT"], encoding="utf-8") as file:
        told = json.load(file)
    said = {"pm": pm, "qa": qa, "dev": dev, "gate": gate}[sys.argv[1]](told)
    with open(os.environ["MEDBAY_RESULT"], "w", encoding="utf-8") as file:
        json.dump({**said, "usage": {"tokens_in": 1200, "tokens_out": 300}}, file)

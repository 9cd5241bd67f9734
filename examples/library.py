"""The library in twenty lines: two tasks, one of them flaky, run until nothing is left to do."""

from __future__ import annotations

import tempfile
from pathlib import Path

import medbay


def main() -> None:
    """Print what became of each task."""
    with tempfile.TemporaryDirectory() as folder, medbay.open(f"sqlite:///{folder}/work.db") as bay:
        hello = bay.add("hello", run=["echo", "hello"], cwd=folder)
        bay.add("after hello", run="echo it came after", after=[hello.id], cwd=folder)
        code = bay.run_until_idle()
        for task in bay.select():
            attempt = bay.attempts(task.id)[-1]
            said = Path(attempt.log_path).read_text(encoding="utf-8").strip()
            print(f"{task.title}: {task.status} after {task.attempts} attempt, it said: {said}")
        print(f"exit code {code}")


if __name__ == "__main__":
    main()

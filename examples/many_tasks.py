"""Many tasks at once: added in one transaction, run by several slots, those that failed tried again together."""

from __future__ import annotations

import tempfile

import medbay
from medbay import TaskFilter


def main() -> None:
    """Twenty tasks; a switch that is off makes every fourth fail, until somebody turns it on."""
    with tempfile.TemporaryDirectory() as folder, medbay.open(f"sqlite:///{folder}/work.db") as bay:
        bay.add_many(
            {
                "title": f"item {number}",
                "run": "true" if number % 4 else "test -e switch || { echo 401 Unauthorized; exit 1; }",
                "tag": ["batch"],
                "cwd": folder,
            }
            for number in range(20)
        )
        bay.run_until_idle(workers=4)
        print(bay.counts())

        open(f"{folder}/switch", "w").close()
        stuck = TaskFilter(statuses=("blocked",), tags=("batch",))
        planned = bay.act_on("unblock", stuck, dry_run=True)
        print(f"would unblock {len(planned.done)}")
        bay.act_on("unblock", planned.done)
        bay.run_until_idle(workers=4)
        print(bay.counts())


if __name__ == "__main__":
    main()

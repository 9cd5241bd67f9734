"""Python functions as durable tasks: one heals by itself, one waits for another, and their results are kept."""

from __future__ import annotations

import os
import tempfile

import medbay


@medbay.task(title="count the words", timeout="1m")
def count_words(text: str) -> dict[str, int]:
    """An ordinary function: called with its arguments, or added as a task."""
    print("counting")  # goes to the log of the attempt
    return {"words": len(text.split())}


@medbay.task
def shaky() -> str:
    """Asks to be tried again the first time, which is no failure of its own."""
    if os.environ["MEDBAY_ATTEMPT"] == "1":
        raise medbay.TryAgain("the first time never works", after=0.2)
    return "the second time it did"


def main() -> None:
    """Add them, run them, print what they returned."""
    print("called as it is:", count_words("one two"))
    with tempfile.TemporaryDirectory() as folder, medbay.open(f"sqlite:///{folder}/work.db") as bay:
        counted = count_words.add(bay, "one two three")
        shaken = shaky.using(after=[counted.id]).add(bay)
        by_name = bay.add("by its name", python="textwrap:shorten", args={"text": "a long text", "width": 8})
        code = bay.run_until_idle()
        for task in (counted, shaken, by_name):
            print(f"{task.title}: {bay.result(task.id)} (attempt {bay.get(task.id).attempts})")
        print(f"exit code {code}")


if __name__ == "__main__":
    main()

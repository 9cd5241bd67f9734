"""`medbay add --assess` and `[policy] assess`, through the command line."""

from __future__ import annotations

import json

from tests.cli.calling import Cli

SPEC = "Make the parser handle all odd dates of the old archive."


def test_a_specification_like_one_that_failed_is_named_and_asked_about(cli: Cli) -> None:
    """The sentence, what became of the earlier tasks, and with `ask` a question before the first attempt."""
    for title in ("first", "second"):
        cli.good("add", "--file", "-", stdin=json.dumps({"title": title, "run": "true", "spec": SPEC}))
    with cli.bay().store.write() as tx:  # as if each had failed again and again
        tx.execute("UPDATE task SET attempts = 4, last_category = 'test_failure/assertion'")
    (cli.folder / "spec.md").write_text(f"Be quick about it please. {SPEC}")

    warned = cli.good("add", "third", "--run", "true", "--spec", "spec.md", "--assess")
    fine = cli.good("add", "fourth", "--run", "true", "--spec", "spec.md")
    assert "odd dates of the old archive" in warned.err
    assert "2 of 2 earlier tasks" in warned.err
    assert "risk" not in fine.err

    (cli.folder / "medbay.toml").write_text('[policy]\nassess = "ask"\n')
    line = json.dumps({"title": "fifth", "run": "true", "spec": SPEC})
    cli.good("add", "--file", "-", stdin=line)
    asked = [each for each in cli.good("inbox", "--json").json if each["need"].startswith("fifth")]
    assert len(asked) == 1
    assert "odd dates" in asked[0]["why"]

"""The reference pages say what the code does: every command, every field, every exit code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from medbay import errors
from medbay.cli.commands import TABLE
from tests.cli.calling import Cli
from tests.worlds import failed

PAGES = Path(__file__).parent.parent.parent / "docs" / "reference"


def page(name: str) -> str:
    """The text of a reference page."""
    return (PAGES / name).read_text(encoding="utf-8")


def test_every_command_has_a_section_with_an_example() -> None:
    """In the page of the command line."""
    text = page("cli.md")

    for entry in TABLE:
        section = text.partition(f"\n### `{entry.name}`\n")[2].partition("\n### ")[0]
        assert re.search(rf"^    (\$ )?.*medbay {entry.name}\b", section, re.MULTILINE), entry.name


def test_every_option_stands_in_the_page(bare: Cli) -> None:
    """What `--help` lists is written down."""
    text = page("cli.md")
    for entry in TABLE:
        if entry.name in ("run", "up", "demo", "simulate", "policy", "lifecycle"):
            continue
        for option in re.findall(r"(?<=\s)--[a-z-]+", bare.good(entry.name, "--help").out):
            assert f"`{option}" in text, f"{entry.name} {option}"


def test_every_option_of_add_stands_in_a_group(bare: Cli) -> None:
    """`add --help` shows them by subject: a new option gets its place in `GROUPS`."""
    other = bare.good("add", "--help").out.partition("\nOther:")[2]

    assert set(re.findall(r"(?<=\s)--[a-z-]+", other)) == {
        "--json",
        "--store",
        "--trust",
        "--trust-file",
        "--debug",
        "--no-color",
        "--help",
    }


def test_every_field_stands_in_the_page(cli: Cli) -> None:
    """Of tasks, attempts, diagnoses, retries, transitions, questions and events."""
    world = cli.world()
    engine = cli.engine(world)
    task = world.add("pull", failed("connect ECONNREFUSED 10.0.0.1:443"))
    engine.tick()
    engine.tick()
    asks = cli.add("asks")
    cli.good("block", asks, "--reason", "why not", "--kind", "human")
    known = set(re.findall(r"^\| `([a-z_]+)`", page("json.md"), re.MULTILINE))

    shown = cli.good("show", task.id, "--json").json
    (attempt,) = shown["attempts"]
    found = [
        shown,
        attempt,
        attempt["diagnosis"],
        shown["retries"][0],
        shown["history"][0],
        shown["guidance"][0],
        cli.good("show", asks, "--json").json["question"],
        cli.good("explain", task.id, "--json").json,
        cli.good("policy", "show", "--json").json,
        cli.good("doctor", "--json").json,
        cli.good("workers", "--json").json[0],
        cli.good("breaker", "open", "anthropic", "--json").json,
        *(cli.good(*words, "--json").json[0] for words in (["list"], ["inbox"])),
    ]

    assert {name for each in found for name in each} <= known


@pytest.mark.parametrize("kind", [each for each in vars(errors).values() if isinstance(each, type)])
def test_every_exit_code_stands_in_the_page(kind: type[errors.MedbayError]) -> None:
    """Whatever error a caller meets."""
    assert f"| {kind.exit_code} |" in page("exit-codes.md")

"""Each screen is one picture of the store: it reads in one transaction, however much it shows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from medbay.bay import Bay
from medbay.store.database import Tx
from medbay.store.sqlite import SqliteStore
from tests.cli.calling import Cli


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Records each opening of the store, and each read transaction after it."""
    seen: list[str] = []
    read, opened = SqliteStore.read, Bay.__init__

    def open_store(bay: Bay, *args: Any, **options: Any) -> None:
        before = len(seen)
        opened(bay, *args, **options)
        seen[before:] = ["open"]

    @contextmanager
    def counted(store: SqliteStore) -> Iterator[Tx]:
        seen.append("read")
        with read(store) as tx:
            yield tx

    monkeypatch.setattr(SqliteStore, "read", counted)
    monkeypatch.setattr(Bay, "__init__", open_store)
    return seen


@pytest.fixture
def fleet(cli: Cli) -> str:
    """A task that fails and asks, one behind it, one that is ready; the id of the first."""
    first = cli.add("first", "--run", "echo 'bash: frobnicate: command not found' >&2; exit 127")
    cli.add("second", "--after", first)
    cli.good("block", first, "--reason", "vendor", "--kind", "human")
    cli.add("third")
    return first


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["list", "--json"],
        ["list", "--all", "-v"],
        ["show", "ID"],
        ["show", "ID", "--json"],
        ["explain", "ID"],
        ["explain", "ID", "--json"],
        ["inbox"],
        ["inbox", "--json"],
        ["incidents"],
        ["incidents", "--all", "--json"],
        ["breaker", "list"],
        ["graph"],
        ["workers"],
        ["patterns", "list"],
        ["preferences"],
        ["export"],
    ],
    ids=" ".join,
)
def test_a_screen_reads_in_one_transaction(cli: Cli, fleet: str, reads: list[str], words: list[str]) -> None:
    """What stands on one screen was true at one moment."""
    reads.clear()

    cli.good(*(fleet if word == "ID" else word for word in words))

    assert reads == ["open", "read"]

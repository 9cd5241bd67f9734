"""Numbered migrations, one folder per dialect. A newer database is refused, an older one migrated."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Any, Final, Protocol

from medbay.errors import StoreTooNew
from medbay.store.dialect import Dialect


class Executor(Protocol):
    """The little a migration needs of a connection."""

    def execute(self, sql: str, /) -> Any:
        """Run one statement."""
        ...


def available(dialect: str) -> list[tuple[int, str, str]]:
    """Every migration of a dialect: number, name, text, in order."""
    found = []
    for file in resources.files(__name__).joinpath(dialect).iterdir():
        if file.name.endswith(".sql"):
            number, _, name = file.name.removesuffix(".sql").partition("_")
            found.append((int(number), name, file.read_text(encoding="utf-8")))
    return sorted(found)


@cache
def newest(dialect: str) -> int:
    """The number of the last migration that this version knows."""
    return available(dialect)[-1][0]


def refusal(present: int, known: int) -> StoreTooNew:
    """Why a store of a later version is not used."""
    return StoreTooNew(
        f"this store has schema {present}, this Medbay knows up to {known}", hint="install a newer Medbay"
    )


def migrate(connection: Executor, dialect: Dialect, *, upto: int | None = None) -> list[str]:
    """Bring a database to the present schema (or to `upto`), all in one transaction; what was done."""
    steps = available(dialect.name)
    last = steps[-1][0]
    if version(connection, dialect) == last and upto is None:
        return []
    done = []
    try:
        for statement in dialect.begin_migration:
            connection.execute(statement)
        # Asked again inside the lock: another process may have migrated meanwhile.
        present = version(connection, dialect)
        if present > last:
            raise refusal(present, last)
        for number, name, text in steps:
            if present < number and (upto is None or number <= upto):
                for statement in statements(text):
                    connection.execute(statement)
                connection.execute(dialect.set_schema_sql.format(number=number))
                done.append(f"{number:04d}_{name}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    return done


def version(connection: Executor, dialect: Dialect) -> int:
    """The number of the last migration this database has."""
    if connection.execute(dialect.is_empty_sql).fetchone()[0]:
        return 0
    found = connection.execute(dialect.schema_sql).fetchone()
    return int(found[0]) if found else 0


def statements(text: str) -> list[str]:
    """The statements of a migration; comments may stand on lines of their own.

    A statement ends at its semicolon. What follows a line `-- statement` is one whole statement, semicolons included,
    up to the next such line or to `-- statements`: the body of a trigger.
    """
    found: list[str] = []
    for part in _WHOLE.split(text):
        whole, rest = part.removeprefix(_ONE), part.startswith(_ONE)
        code = "\n".join(line for line in whole.splitlines() if not line.lstrip().startswith("--"))
        found += [code] if rest else code.split(";")
    return [each.strip() for each in found if each.strip()]


_ONE: Final = "-- statement\n"
_WHOLE: Final = re.compile(r"^(?=-- statements?$)", re.MULTILINE)

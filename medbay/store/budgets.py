"""What is reserved and used of each day, by all and by each role, and by which attempt."""

from __future__ import annotations

from medbay.core.budget import Amount, Day, Reservation
from medbay.store.database import Tx

_SUMS = "reserved_tokens, reserved_cost, used_tokens, used_cost"
_ADDED = ", ".join(f"{each} = {{0}}.{each} + excluded.{each}" for each in _SUMS.split(", "))


def day(tx: Tx, name: str) -> Day:
    """One day; in a transaction that writes no other transaction reserves or settles from now on."""
    if tx.locks.take:  # there has to be a row to be locked
        tx.execute("INSERT INTO budget_day (day) VALUES (?) ON CONFLICT (day) DO NOTHING", (name,))
    row = tx.one(f"SELECT {_SUMS} FROM budget_day WHERE day = ?{tx.locks.take}", (name,))
    return Day(day=name, reserved=Amount(row[0], row[1]), used=Amount(row[2], row[3])) if row else Day(day=name)


def share(tx: Tx, name: str, role: str) -> Day:
    """The share of one role; who writes has the day itself first, whose lock is that of its shares too."""
    row = tx.one(f"SELECT {_SUMS} FROM budget_role WHERE day = ? AND role = ?", (name, role))
    sums = (Amount(row[0], row[1]), Amount(row[2], row[3])) if row else (Amount(), Amount())
    return Day(day=name, role=role, reserved=sums[0], used=sums[1])


def of(tx: Tx, wanted: Day) -> Day:
    """A day or a share of it as it is now."""
    return share(tx, wanted.day, wanted.role) if wanted.role else day(tx, wanted.day)


def shares(tx: Tx, name: str) -> list[Day]:
    """What each role reserved and used of a day."""
    rows = tx.rows(f"SELECT role, {_SUMS} FROM budget_role WHERE day = ? ORDER BY role", (name,))
    return [Day(day=name, role=row[0], reserved=Amount(row[1], row[2]), used=Amount(row[3], row[4])) for row in rows]


def add(tx: Tx, name: str, role: str, *, reserved: Amount, used: Amount) -> None:
    """Add to a day and to the share of a role; what is given back is below zero."""
    sums = (reserved.tokens, reserved.cost, used.tokens, used.cost)
    tx.execute(
        f"INSERT INTO budget_day (day, {_SUMS}) VALUES (?, ?, ?, ?, ?)"
        f" ON CONFLICT (day) DO UPDATE SET {_ADDED.format('budget_day')}",
        (name, *sums),
    )
    tx.execute(
        f"INSERT INTO budget_role (day, role, {_SUMS}) VALUES (?, ?, ?, ?, ?, ?)"
        f" ON CONFLICT (day, role) DO UPDATE SET {_ADDED.format('budget_role')}",
        (name, role, *sums),
    )


def reserve(tx: Tx, made: Reservation) -> None:
    """Remember what an attempt may cost."""
    tx.execute(
        "INSERT INTO reservation (task_id, number, day, role, tokens, cost) VALUES (?, ?, ?, ?, ?, ?)",
        (made.task_id, made.number, made.day, made.role, made.amount.tokens, made.amount.cost),
    )


def reservation(tx: Tx, task_id: str, number: int) -> Reservation | None:
    """What was reserved for an attempt."""
    row = tx.one(
        "SELECT day, role, tokens, cost, settled FROM reservation WHERE task_id = ? AND number = ?", (task_id, number)
    )
    if row is None:
        return None
    amount = Amount(row[2], row[3])
    return Reservation(task_id=task_id, number=number, day=row[0], role=row[1], amount=amount, settled=bool(row[4]))


def settled(tx: Tx, made: Reservation) -> None:
    """It has ended: what was reserved for it is free again."""
    tx.execute("UPDATE reservation SET settled = 1 WHERE task_id = ? AND number = ?", (made.task_id, made.number))


def record_usage(tx: Tx, task_id: str, number: int, used: Amount) -> None:
    """What an attempt has cost, in its row."""
    tx.execute(
        "UPDATE attempt SET tokens = ?, cost = ? WHERE task_id = ? AND number = ?",
        (used.tokens, used.cost, task_id, number),
    )

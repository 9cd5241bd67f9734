"""What is reserved and used of each day, and by which attempt."""

from __future__ import annotations

from medbay.core.budget import Amount, Day, Reservation
from medbay.store.database import Tx

_COLUMNS = "day, reserved_tokens, reserved_cost, used_tokens, used_cost"


def day(tx: Tx, name: str) -> Day:
    """One day; in a transaction that writes no other transaction reserves or settles from now on."""
    if tx.locks.take:  # there has to be a row to be locked
        tx.execute("INSERT INTO budget_day (day) VALUES (?) ON CONFLICT (day) DO NOTHING", (name,))
    row = tx.one(f"SELECT {_COLUMNS} FROM budget_day WHERE day = ?{tx.locks.take}", (name,))
    return Day(day=name, reserved=Amount(row[1], row[2]), used=Amount(row[3], row[4])) if row else Day(day=name)


def add(tx: Tx, name: str, *, reserved: Amount, used: Amount) -> None:
    """Add to a day; what is given back is below zero."""
    sums = ", ".join(f"{each} = budget_day.{each} + excluded.{each}" for each in _COLUMNS.split(", ")[1:])
    tx.execute(
        f"INSERT INTO budget_day ({_COLUMNS}) VALUES (?, ?, ?, ?, ?) ON CONFLICT (day) DO UPDATE SET {sums}",
        (name, reserved.tokens, reserved.cost, used.tokens, used.cost),
    )


def reserve(tx: Tx, made: Reservation) -> None:
    """Remember what an attempt may cost."""
    tx.execute(
        "INSERT INTO reservation (task_id, number, day, tokens, cost) VALUES (?, ?, ?, ?, ?)",
        (made.task_id, made.number, made.day, made.amount.tokens, made.amount.cost),
    )


def reservation(tx: Tx, task_id: str, number: int) -> Reservation | None:
    """What was reserved for an attempt."""
    row = tx.one(
        "SELECT day, tokens, cost, settled FROM reservation WHERE task_id = ? AND number = ?", (task_id, number)
    )
    if row is None:
        return None
    amount = Amount(row[1], row[2])
    return Reservation(task_id=task_id, number=number, day=row[0], amount=amount, settled=bool(row[3]))


def settled(tx: Tx, made: Reservation) -> None:
    """It has ended: what was reserved for it is free again."""
    tx.execute("UPDATE reservation SET settled = 1 WHERE task_id = ? AND number = ?", (made.task_id, made.number))


def record_usage(tx: Tx, task_id: str, number: int, used: Amount) -> None:
    """What an attempt has cost, in its row."""
    tx.execute(
        "UPDATE attempt SET tokens = ?, cost = ? WHERE task_id = ? AND number = ?",
        (used.tokens, used.cost, task_id, number),
    )

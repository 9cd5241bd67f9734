"""The errors a caller can make or meet. Each leaf carries its exit code and HTTP status.

How an attempt of a task went wrong is data (`core.outcome`), never an exception.
"""

from __future__ import annotations


class MedbayError(Exception):
    """Something the caller can understand and act on; `hint` says what to do."""

    exit_code = 1
    http_status = 500

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.line_number: int | None = None  # which of several inputs it was, counted from 1

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class UsageError(MedbayError):
    """The call itself is wrong: a bad flag, value or combination."""

    exit_code = 2
    http_status = 400


class ConfigError(UsageError):
    """A configuration file has a mistake; `file` and `line` say where."""

    def __init__(self, message: str, *, file: str = "", line: int | None = None, hint: str = "") -> None:
        place = f"{file}:{line}: " if file and line else f"{file}: " if file else ""
        super().__init__(place + message, hint=hint)
        self.file = file
        self.line = line


class NotFound(MedbayError):
    """What was named does not exist."""

    exit_code = 3
    http_status = 404


class NotAllowed(MedbayError):
    """It exists, but this may not happen to it now."""

    exit_code = 4
    http_status = 409


class IllegalTransition(NotAllowed):
    """A lifecycle does not have this move."""


class StaleClaim(NotAllowed):
    """Another process changed it first, or a lease was lost."""


class StoreError(MedbayError):
    """The store cannot be opened, read or written."""

    exit_code = 1
    http_status = 503


class StoreTooNew(StoreError):
    """The store was written by a later version of Medbay."""

    exit_code = 4


class StoreUnavailable(StoreError):
    """The store did not answer this time; the same call may succeed later."""


class StoreFull(StoreUnavailable):
    """No space is left where the store is; nothing is lost, and the same call succeeds once there is some."""


class StoreBusy(StoreUnavailable):
    """Two transactions waited for each other and this one was undone; the same call, made again, succeeds."""


class StoreRemoved(StoreError):
    """The store's file is not the one that was opened: waiting does not bring it back."""


class SpawnFailed(MedbayError):
    """A process could not be started; the engine turns it into an outcome."""

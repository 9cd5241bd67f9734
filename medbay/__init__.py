"""Medbay runs unattended work, and heals it when it fails."""

from __future__ import annotations

TYPE_CHECKING = False  # not from `typing`: worker processes load this, and that takes as long as many calls

__version__ = "0.1.0"
__all__ = [
    "Bay",
    "Diagnosis",
    "MedbayError",
    "Task",
    "TaskFilter",
    "TryAgain",
    "__version__",
    "diagnose",
    "open",
    "task",
]

if TYPE_CHECKING:
    from typing import Any

    from medbay.bay import Bay
    from medbay.bay import open_bay as open
    from medbay.core.diagnosis import Diagnosis, diagnose
    from medbay.core.model import Task
    from medbay.errors import MedbayError
    from medbay.function import TryAgain, task
    from medbay.store.tasks import TaskFilter

_WHERE = {
    "Bay": ("medbay.bay", "Bay"),
    "open": ("medbay.bay", "open_bay"),
    "Diagnosis": ("medbay.core.diagnosis", "Diagnosis"),
    "diagnose": ("medbay.core.diagnosis", "diagnose"),
    "Task": ("medbay.core.model", "Task"),
    "TaskFilter": ("medbay.store.tasks", "TaskFilter"),
    "TryAgain": ("medbay.function", "TryAgain"),
    "task": ("medbay.function", "task"),
    "MedbayError": ("medbay.errors", "MedbayError"),
}


def __getattr__(name: str) -> Any:
    """Public names are loaded when they are first used, so that `medbay --help` stays fast."""
    if name not in _WHERE:
        raise AttributeError(f"module 'medbay' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _WHERE[name]
    return getattr(import_module(module), attribute)

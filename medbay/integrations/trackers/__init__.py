"""Trackers behind one small protocol: one file per system."""

from __future__ import annotations

import os
from importlib import import_module

from medbay.core.tracker.source import TrackerSource
from medbay.integrations.trackers.labelled import LabelledTracker


def open_source(source: TrackerSource) -> LabelledTracker:
    """The tracker of a source: its kind is the module that knows it. Raises TrackerError where it cannot be asked."""
    module = import_module(f"medbay.integrations.trackers.{source.kind}")
    return LabelledTracker(module.open_api(source, os.environ))

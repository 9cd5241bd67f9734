"""Trackers behind one small protocol: one file per system."""

"""Runners are what an attempt runs; they report how it ended and never decide what a failure means."""

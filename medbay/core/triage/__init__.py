"""Triage: when a failing task is looked at, what a verdict may say, what it may change, what follows from it."""

"""Triage: when a failing task is triaged, what a verdict may say, what it may change, what follows from it."""

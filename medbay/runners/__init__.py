"""Runners start one attempt and report how it ended; they never decide what a failure means."""

"""Coding agents and the agents of triage, as commands."""

"""Intake: rules, bundle, the built-in agent."""

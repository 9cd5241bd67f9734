"""Use cases: load, ask a rule, save. Each takes an open transaction and never commits."""

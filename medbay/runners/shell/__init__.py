"""Commands: one process tree per attempt."""

"""Coding agents: the real command lines against a local imitation of the APIs they call, and recorded transcripts."""

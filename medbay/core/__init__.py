"""The pure core: no IO, no clock, no randomness, no logging."""

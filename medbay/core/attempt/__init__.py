"""An attempt ended: what it counts as, what caused it, what is checked, and what the next attempt is told."""

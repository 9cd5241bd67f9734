"""An attempt ended: what it counts as, what caused it, what is checked, and the guidance for the next attempt."""

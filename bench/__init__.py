"""Measurements against the bars. Figures are printed with their settings; nothing here is a test."""

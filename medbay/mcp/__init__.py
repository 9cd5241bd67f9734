"""Medbay for clients of the Model Context Protocol: tool -> Bay -> views."""

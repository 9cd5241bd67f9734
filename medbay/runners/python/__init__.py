"""Python functions, called in warm worker processes. Those load this package: nothing is imported here."""

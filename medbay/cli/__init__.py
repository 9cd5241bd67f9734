"""The command line: parse, call the Bay, print. It decides nothing."""

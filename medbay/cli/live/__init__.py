"""What a command shows while it runs: lines, one line in place, the output of attempts, signals."""

"""What is acknowledged is on the disk: shown by the system calls of the real program."""

"""Models and Claude as judges: programs that get a context on standard input and print a verdict or a score.

Each runs in a process of its own, so that nothing here is imported by the daemon or the command line.
"""

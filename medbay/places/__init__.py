"""Places are where attempts run: this machine with its process trees. They know nothing of what a runner means."""

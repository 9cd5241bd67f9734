"""The configuration: the table of its keys, how it is loaded, and where in the file each value stands."""

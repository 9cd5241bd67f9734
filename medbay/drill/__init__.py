"""`medbay drill`: the promises tried on this machine, through the real commands, each in a store of its own."""

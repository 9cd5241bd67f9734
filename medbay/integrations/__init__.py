"""Other systems, one file each, behind small protocols. They know neither the store nor the engine."""

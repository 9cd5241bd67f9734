"""The page and the API: a request becomes a call of the library, its answer a view. Runs in a process of its own."""

"""The workflows that come with the package, as files that are read like a user's own."""

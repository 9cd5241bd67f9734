"""What is said, once for every surface: words, sentences and JSON shapes from records. Pure; imports the core only."""

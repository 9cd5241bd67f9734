"""How long to wait and how often to try again: policies as data, and what they come to."""

"""`medbay demo`: a fleet of real commands that fail, and the screen that shows them heal."""

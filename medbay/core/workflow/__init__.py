"""Stories and the workflows they walk through: long pieces of work, phase by phase."""

"""What a person does and is asked: commands, questions, preferences, corrections."""

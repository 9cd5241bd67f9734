-- The agents that may go on with a task, in their order; and whether it is handed the results of what it comes after.
ALTER TABLE task ADD COLUMN agents TEXT NOT NULL DEFAULT '[]';
ALTER TABLE task ADD COLUMN takes_input INTEGER NOT NULL DEFAULT 0;

-- Where an attempt gets variables when it starts: a file, and names from the environment of the daemon. Never their values.
ALTER TABLE task ADD COLUMN env_file TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN env_from TEXT NOT NULL DEFAULT '[]';

-- How the worktree of an agent's task is prepared and what becomes of its work, where the task says so itself.
ALTER TABLE task ADD COLUMN worktree TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN setup TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN copies TEXT NOT NULL DEFAULT '[]';
ALTER TABLE task ADD COLUMN on_pass TEXT NOT NULL DEFAULT '';

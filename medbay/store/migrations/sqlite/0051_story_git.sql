-- The branch and the worktree of a story, and what became of them.
ALTER TABLE story ADD COLUMN git TEXT NOT NULL DEFAULT '{}';

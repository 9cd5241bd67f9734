-- The branch and the worktree of a story, and what became of them.
ALTER TABLE story ADD COLUMN git TEXT COLLATE "C" NOT NULL DEFAULT '{}';

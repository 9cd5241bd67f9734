-- By when a task has to have ended, and from when on an attempt takes strangely long.
ALTER TABLE task ADD COLUMN expect_by TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN expect_at INTEGER;
ALTER TABLE task ADD COLUMN slow_at INTEGER;
CREATE INDEX task_expected ON task (expect_at, id) WHERE expect_at IS NOT NULL;
CREATE INDEX task_slow ON task (slow_at, id) WHERE slow_at IS NOT NULL;

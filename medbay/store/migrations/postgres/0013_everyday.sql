-- The shell of a command line (empty: sh, as before), whether it takes advice, how long it may show no progress,
-- and what the log of its last success says against it.
ALTER TABLE task ADD COLUMN shell TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN advice TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN stall_ms BIGINT;
ALTER TABLE task ADD COLUMN warning TEXT NOT NULL DEFAULT '';
CREATE INDEX task_warned ON task (since) WHERE warning <> '';

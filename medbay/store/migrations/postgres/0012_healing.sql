-- Since when a task does nothing but fail.
ALTER TABLE task ADD COLUMN failing_since BIGINT;

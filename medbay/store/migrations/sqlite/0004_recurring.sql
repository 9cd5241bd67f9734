-- Recurring tasks: a schedule or a place in a loop, the occurrence that is planned, and what was counted of them.
ALTER TABLE task ADD COLUMN cron TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN zone TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN every_ms BIGINT;
ALTER TABLE task ADD COLUMN catch_up TEXT NOT NULL DEFAULT 'one';
ALTER TABLE task ADD COLUMN max_iterations BIGINT;
ALTER TABLE task ADD COLUMN loop TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN loop_place INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN max_failure_restarts INTEGER NOT NULL DEFAULT 3;
ALTER TABLE task ADD COLUMN iterations_done BIGINT NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN planned_at BIGINT;
ALTER TABLE task ADD COLUMN restarts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN endless INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN planned_at BIGINT;
CREATE INDEX task_loop ON task (loop, loop_place) WHERE loop <> '';
-- What recurs for ever is not among what an engine waits for before it is idle.
DROP INDEX task_requeued;
CREATE INDEX task_requeued ON task (queue, id)
    WHERE status = 'pending' AND due_at IS NOT NULL AND paused = 0
    AND endless = 0 AND (attempts > 0 OR max_iterations IS NOT NULL);

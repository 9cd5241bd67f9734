-- Whether anything of a queue waits to be retried is asked in every idle round: what waits in other queues costs nothing.
CREATE INDEX task_retried ON task (queue, id) WHERE status = 'failed' AND paused = 0 AND endless = 0;

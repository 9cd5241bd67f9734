-- Breakers: who may change one, what was asked about it, which commands need what it protects.
ALTER TABLE breaker ADD COLUMN closed_at BIGINT;
ALTER TABLE breaker ADD COLUMN question_id TEXT;
ALTER TABLE breaker ADD COLUMN version BIGINT NOT NULL DEFAULT 0;
-- When the engine looks after a breaker next.
CREATE INDEX breaker_probe ON breaker (probe_at, key) WHERE probe_at IS NOT NULL;

-- What is parked, by what holds it and by queue: canaries and releases read the head of it.
DROP INDEX task_hold;
CREATE INDEX task_hold ON task (hold, queue, id) WHERE hold IS NOT NULL;
-- Of what failed alike, the one due soonest may be a canary.
CREATE INDEX task_failed ON task (last_fingerprint, due_at, id) WHERE status = 'failed';
CREATE INDEX failure_task_seen ON failure_task (fingerprint, last_seen);

-- A command was seen to need a resource; tasks with the same command are taken to need it too, for a while.
CREATE TABLE command_resource (
    command TEXT NOT NULL,
    resource TEXT NOT NULL,
    seen_at BIGINT NOT NULL,
    PRIMARY KEY (command, resource)
);
CREATE INDEX command_resource_of ON command_resource (resource, command);

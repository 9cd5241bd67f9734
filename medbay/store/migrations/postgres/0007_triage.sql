-- Triage: whom a task serves, which tasks want to be looked at, every triage with its verdict, and who is asked again.
ALTER TABLE task ADD COLUMN subject TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN role TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN model TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN fresh_session INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN max_tokens BIGINT;
ALTER TABLE task ADD COLUMN max_cost BIGINT;
ALTER TABLE task ADD COLUMN wants_triage INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN triages INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN triaged_at BIGINT;
ALTER TABLE attempt ADD COLUMN tokens BIGINT;
ALTER TABLE attempt ADD COLUMN cost BIGINT;
-- The cycle reads the head of this one.
CREATE INDEX task_wants_triage ON task (queue, since, id) WHERE wants_triage = 1 AND paused = 0;
CREATE INDEX task_subject ON task (subject, role, id) WHERE subject <> '';

CREATE TABLE triage (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES task (id),
    number INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    agent TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    since_seq BIGINT NOT NULL,
    ended_at BIGINT,
    action TEXT NOT NULL DEFAULT '',
    detail TEXT NOT NULL DEFAULT '',
    verdict TEXT,
    diff TEXT
);
CREATE INDEX triage_task ON triage (task_id, started_at);
-- One triage per fingerprint at a time, enforced here.
CREATE UNIQUE INDEX triage_running ON triage (fingerprint) WHERE ended_at IS NULL;

-- When an open question is sent again, and how often it was.
ALTER TABLE question ADD COLUMN send_at BIGINT;
ALTER TABLE question ADD COLUMN sent INTEGER NOT NULL DEFAULT 1;
CREATE INDEX question_send ON question (send_at, id) WHERE status = 'open' AND send_at IS NOT NULL;

CREATE TABLE preference (
    scope TEXT PRIMARY KEY,
    answer TEXT NOT NULL,
    told_by TEXT NOT NULL,
    told_at BIGINT NOT NULL,
    used BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE budget_day (
    day TEXT PRIMARY KEY,
    reserved_tokens BIGINT NOT NULL DEFAULT 0,
    reserved_cost BIGINT NOT NULL DEFAULT 0,
    used_tokens BIGINT NOT NULL DEFAULT 0,
    used_cost BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE reservation (
    task_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    day TEXT NOT NULL,
    tokens BIGINT NOT NULL,
    cost BIGINT NOT NULL,
    settled INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (task_id, number)
);

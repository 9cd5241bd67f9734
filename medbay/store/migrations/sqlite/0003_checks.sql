-- Checks on the result of an attempt: what a task asks for, and how each check of each attempt ended.
ALTER TABLE task ADD COLUMN checks TEXT NOT NULL DEFAULT '[]';
ALTER TABLE task ADD COLUMN check_timeout_ms BIGINT NOT NULL DEFAULT 300000;
ALTER TABLE task ADD COLUMN fail_fast INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN threshold DOUBLE PRECISION NOT NULL DEFAULT 1.0;

CREATE TABLE check_result (
    task_id TEXT NOT NULL REFERENCES task (id),
    number INTEGER NOT NULL,
    position INTEGER NOT NULL,
    command TEXT NOT NULL,
    required INTEGER NOT NULL,
    status TEXT NOT NULL,
    exit_code INTEGER,
    signal INTEGER,
    round INTEGER NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    head TEXT NOT NULL,
    tail TEXT NOT NULL,
    total_bytes BIGINT NOT NULL,
    log_path TEXT NOT NULL,
    PRIMARY KEY (task_id, number, position)
);

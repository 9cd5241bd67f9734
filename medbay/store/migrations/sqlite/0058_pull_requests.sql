-- The pull requests that tasks made: while one is open, what its checks and reviewers say comes back.
CREATE TABLE pull_request (
    task_id TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    host TEXT NOT NULL,
    opened_at BIGINT NOT NULL,
    look_at BIGINT NOT NULL,
    closed_at BIGINT,
    ended TEXT NOT NULL DEFAULT ''
);
CREATE INDEX pull_request_open ON pull_request (host, look_at) WHERE closed_at IS NULL;

-- A task that recurs makes a pull request in each of its rounds: each has a row, by the name of its branch.
CREATE TABLE pull_request_of_branch (
    name TEXT PRIMARY KEY,
    task_id TEXT NOT NULL,
    url TEXT NOT NULL,
    host TEXT NOT NULL,
    opened_at BIGINT NOT NULL,
    look_at BIGINT NOT NULL,
    closed_at BIGINT,
    ended TEXT NOT NULL DEFAULT ''
);
INSERT INTO pull_request_of_branch (name, task_id, url, host, opened_at, look_at, closed_at, ended)
    SELECT task_id, task_id, url, host, opened_at, look_at, closed_at, ended FROM pull_request;
DROP TABLE pull_request;
ALTER TABLE pull_request_of_branch RENAME TO pull_request;
CREATE INDEX pull_request_open ON pull_request (host, look_at) WHERE closed_at IS NULL;

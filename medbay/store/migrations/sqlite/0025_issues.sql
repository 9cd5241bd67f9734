-- Issues of trackers: the task that works on each, and what we last wrote into its notes.
CREATE TABLE issue (
    source TEXT NOT NULL,
    issue_id TEXT NOT NULL,
    task_id TEXT NOT NULL DEFAULT '',
    charged INTEGER NOT NULL DEFAULT 0,
    line TEXT NOT NULL DEFAULT '',
    version INTEGER NOT NULL DEFAULT -1,
    faults INTEGER NOT NULL DEFAULT 0,
    closed_at INTEGER,
    PRIMARY KEY (source, issue_id)
);
CREATE UNIQUE INDEX issue_task ON issue (task_id) WHERE task_id <> '';
CREATE INDEX issue_open ON issue (source) WHERE closed_at IS NULL;

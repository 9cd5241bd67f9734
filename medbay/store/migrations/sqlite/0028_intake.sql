-- Captures, the events that say they are ready, workorders with what their agents are shown, and candidates.
CREATE TABLE capture (
    id TEXT PRIMARY KEY,
    text TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    tries INTEGER NOT NULL,
    workorder TEXT NOT NULL,
    status TEXT NOT NULL,
    since INTEGER NOT NULL,
    reason TEXT NOT NULL,
    version INTEGER NOT NULL
);
CREATE INDEX capture_free ON capture (created_at, id) WHERE status = 'PENDING' AND workorder = '';
CREATE INDEX capture_listed ON capture (created_at, id);

CREATE TABLE capture_event (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    claimed_by TEXT NOT NULL DEFAULT '',
    claimed_until INTEGER,
    processed_at INTEGER,
    reason TEXT NOT NULL DEFAULT '',
    workorder_id TEXT NOT NULL DEFAULT ''
);
CREATE INDEX capture_event_open ON capture_event (due_at, id) WHERE processed_at IS NULL;

CREATE TABLE context_snapshot (
    id TEXT PRIMARY KEY,
    objective_id TEXT NOT NULL,
    repo_commit_sha TEXT,
    full_prompt_text TEXT NOT NULL,
    related_refs TEXT NOT NULL,
    created_at INTEGER NOT NULL
);
-- statement
CREATE TRIGGER context_snapshot_stays BEFORE UPDATE ON context_snapshot
BEGIN
    SELECT RAISE(ABORT, 'a context snapshot never changes');
END;
-- statement
CREATE TRIGGER context_snapshot_kept BEFORE DELETE ON context_snapshot
BEGIN
    SELECT RAISE(ABORT, 'a context snapshot never changes');
END;
-- statements

CREATE TABLE workorder (
    id TEXT PRIMARY KEY,
    event_id INTEGER NOT NULL,
    snapshot_id TEXT NOT NULL,
    type TEXT NOT NULL,
    agent TEXT NOT NULL,
    branch_name TEXT,
    budget_ms INTEGER NOT NULL,
    max_tries INTEGER NOT NULL,
    promote_above REAL NOT NULL,
    task_id TEXT NOT NULL,
    bundle TEXT,
    questions INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    status TEXT NOT NULL,
    since INTEGER NOT NULL,
    reason TEXT NOT NULL,
    version INTEGER NOT NULL
);
CREATE UNIQUE INDEX workorder_event ON workorder (event_id);
CREATE INDEX workorder_listed ON workorder (created_at, id);

CREATE TABLE workorder_capture (
    workorder_id TEXT NOT NULL,
    capture_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    open INTEGER NOT NULL,
    PRIMARY KEY (workorder_id, capture_id)
);
CREATE UNIQUE INDEX workorder_capture_open ON workorder_capture (capture_id) WHERE open = 1;
CREATE INDEX workorder_capture_of ON workorder_capture (capture_id, workorder_id);

CREATE TABLE run_record (
    workorder_id TEXT PRIMARY KEY,
    gate_result TEXT NOT NULL,
    gate_reason TEXT NOT NULL,
    at INTEGER NOT NULL
);

CREATE TABLE candidate (
    id TEXT PRIMARY KEY,
    workorder TEXT NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    acceptance_criteria TEXT NOT NULL,
    captures TEXT NOT NULL,
    confidence REAL NOT NULL,
    task_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    status TEXT NOT NULL,
    since INTEGER NOT NULL,
    reason TEXT NOT NULL,
    version INTEGER NOT NULL
);
CREATE INDEX candidate_of ON candidate (workorder, id);
CREATE INDEX candidate_listed ON candidate (created_at, id);
CREATE INDEX candidate_proposed ON candidate (workorder) WHERE status = 'PROPOSED';
CREATE UNIQUE INDEX candidate_task ON candidate (task_id) WHERE task_id <> '';
CREATE INDEX question_owner ON question (owner_kind, owner_id) WHERE status = 'open';

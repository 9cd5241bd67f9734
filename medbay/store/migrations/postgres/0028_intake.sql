-- Captures, the events that say they are ready, workorders with what their agents are shown, and candidates.
CREATE TABLE capture (
    id TEXT COLLATE "C" PRIMARY KEY,
    text TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    tries INTEGER NOT NULL,
    workorder TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    since BIGINT NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL
);
CREATE INDEX capture_free ON capture (created_at, id) WHERE status = 'PENDING' AND workorder = '';
CREATE INDEX capture_listed ON capture (created_at, id);

CREATE TABLE capture_event (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    claimed_by TEXT COLLATE "C" NOT NULL DEFAULT '',
    claimed_until BIGINT,
    processed_at BIGINT,
    reason TEXT COLLATE "C" NOT NULL DEFAULT '',
    workorder_id TEXT COLLATE "C" NOT NULL DEFAULT ''
);
CREATE INDEX capture_event_open ON capture_event (due_at, id) WHERE processed_at IS NULL;

CREATE TABLE context_snapshot (
    id TEXT COLLATE "C" PRIMARY KEY,
    objective_id TEXT COLLATE "C" NOT NULL,
    repo_commit_sha TEXT COLLATE "C",
    full_prompt_text TEXT COLLATE "C" NOT NULL,
    related_refs TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);
-- statement
CREATE FUNCTION context_snapshot_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a context snapshot never changes' USING ERRCODE = 'integrity_constraint_violation';
END;
$$;
-- statement
CREATE TRIGGER context_snapshot_stays BEFORE UPDATE OR DELETE ON context_snapshot
    FOR EACH ROW EXECUTE FUNCTION context_snapshot_stays();
-- statements

CREATE TABLE workorder (
    id TEXT COLLATE "C" PRIMARY KEY,
    event_id BIGINT NOT NULL,
    snapshot_id TEXT COLLATE "C" NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    branch_name TEXT COLLATE "C",
    budget_ms BIGINT NOT NULL,
    max_tries INTEGER NOT NULL,
    promote_above DOUBLE PRECISION NOT NULL,
    task_id TEXT COLLATE "C" NOT NULL,
    bundle TEXT COLLATE "C",
    questions INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    since BIGINT NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL
);
CREATE UNIQUE INDEX workorder_event ON workorder (event_id);
CREATE INDEX workorder_listed ON workorder (created_at, id);

CREATE TABLE workorder_capture (
    workorder_id TEXT COLLATE "C" NOT NULL,
    capture_id TEXT COLLATE "C" NOT NULL,
    position INTEGER NOT NULL,
    open INTEGER NOT NULL,
    PRIMARY KEY (workorder_id, capture_id)
);
CREATE UNIQUE INDEX workorder_capture_open ON workorder_capture (capture_id) WHERE open = 1;
CREATE INDEX workorder_capture_of ON workorder_capture (capture_id, workorder_id);

CREATE TABLE run_record (
    workorder_id TEXT COLLATE "C" PRIMARY KEY,
    gate_result TEXT COLLATE "C" NOT NULL,
    gate_reason TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL
);

CREATE TABLE candidate (
    id TEXT COLLATE "C" PRIMARY KEY,
    workorder TEXT COLLATE "C" NOT NULL,
    title TEXT COLLATE "C" NOT NULL,
    description TEXT COLLATE "C" NOT NULL,
    acceptance_criteria TEXT COLLATE "C" NOT NULL,
    captures TEXT COLLATE "C" NOT NULL,
    confidence DOUBLE PRECISION NOT NULL,
    task_id TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    since BIGINT NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL
);
CREATE INDEX candidate_of ON candidate (workorder, id);
CREATE INDEX candidate_listed ON candidate (created_at, id);
CREATE INDEX candidate_proposed ON candidate (workorder) WHERE status = 'PROPOSED';
CREATE UNIQUE INDEX candidate_task ON candidate (task_id) WHERE task_id <> '';
CREATE INDEX question_owner ON question (owner_kind, owner_id) WHERE status = 'open';

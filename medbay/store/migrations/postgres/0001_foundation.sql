-- The record of the engine, column for column as on SQLite. What is sorted or searched by its beginning is compared
-- byte by byte, whatever the language of the database.
CREATE TABLE meta (
    key TEXT COLLATE "C" PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE task (
    id TEXT COLLATE "C" PRIMARY KEY,
    title TEXT NOT NULL,
    runner TEXT NOT NULL,
    command TEXT NOT NULL,
    cwd TEXT NOT NULL,
    env TEXT NOT NULL,
    description TEXT NOT NULL,
    spec TEXT NOT NULL,
    timeout_ms BIGINT,
    memory_bytes BIGINT,
    cpu_ms BIGINT,
    priority INTEGER NOT NULL,
    queue TEXT COLLATE "C" NOT NULL,
    tags TEXT NOT NULL,
    policy TEXT NOT NULL,
    resources TEXT NOT NULL,
    key TEXT COLLATE "C" UNIQUE,
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    since BIGINT NOT NULL,
    version BIGINT NOT NULL,
    block_kind TEXT,
    reason TEXT NOT NULL,
    paused INTEGER NOT NULL,
    cancel_requested INTEGER NOT NULL,
    waits_for TEXT,
    unmet INTEGER NOT NULL,
    due_at BIGINT,
    ready INTEGER NOT NULL,
    ready_at BIGINT,
    hold TEXT COLLATE "C",
    recovery INTEGER NOT NULL,
    canary INTEGER NOT NULL,
    forced INTEGER NOT NULL,
    live INTEGER,
    attempts INTEGER NOT NULL,
    streak INTEGER NOT NULL,
    charged INTEGER NOT NULL,
    uncharged INTEGER NOT NULL,
    uncharged_since BIGINT,
    granted INTEGER NOT NULL,
    asks_at INTEGER NOT NULL,
    crashes INTEGER NOT NULL,
    iteration INTEGER NOT NULL,
    questions INTEGER NOT NULL,
    guidance TEXT NOT NULL,
    last_category TEXT NOT NULL,
    last_fingerprint TEXT NOT NULL,
    last_summary TEXT NOT NULL,
    ended_at BIGINT
);
-- How many tasks were ever added, those of open transactions included: ids grow with it.
CREATE SEQUENCE task_count;
-- The claim reads the head of this one; parked, future and suspect tasks are not in it.
CREATE INDEX task_claim ON task (queue, recovery, priority, ready_at, id)
    WHERE ready = 1 AND hold IS NULL AND crashes = 0;
CREATE INDEX task_suspect ON task (queue, crashes, priority, ready_at, id)
    WHERE ready = 1 AND hold IS NULL AND crashes > 0;
-- The release reads the head of this one.
CREATE INDEX task_due ON task (due_at, id)
    WHERE due_at IS NOT NULL AND ready = 0 AND paused = 0 AND unmet = 0 AND live IS NULL;
CREATE INDEX task_hold ON task (hold, id) WHERE hold IS NOT NULL;
CREATE INDEX task_cancel ON task (id) WHERE cancel_requested = 1;
CREATE INDEX task_requeued ON task (queue, id)
    WHERE status = 'pending' AND due_at IS NOT NULL AND attempts > 0 AND paused = 0;
CREATE INDEX task_private ON task (queue, id) WHERE queue LIKE 'run-%';
CREATE INDEX task_open ON task (status, since, id) WHERE status NOT IN ('completed', 'cancelled');
CREATE INDEX task_recent ON task (status, ended_at, id) WHERE ended_at IS NOT NULL;

CREATE TABLE task_tag (
    tag TEXT COLLATE "C" NOT NULL,
    task_id TEXT COLLATE "C" NOT NULL REFERENCES task (id),
    PRIMARY KEY (tag, task_id)
);
CREATE INDEX task_tag_task ON task_tag (task_id, tag);

CREATE TABLE dependency (
    task_id TEXT COLLATE "C" NOT NULL REFERENCES task (id),
    after_id TEXT COLLATE "C" NOT NULL REFERENCES task (id),
    PRIMARY KEY (task_id, after_id)
);
CREATE INDEX dependency_after ON dependency (after_id, task_id);

CREATE TABLE worker (
    id TEXT COLLATE "C" PRIMARY KEY,
    host TEXT NOT NULL,
    machine_id TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    pid INTEGER NOT NULL,
    pid_start BIGINT NOT NULL,
    slots INTEGER NOT NULL,
    queues TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    beat_at BIGINT NOT NULL,
    lease_until BIGINT NOT NULL,
    policy_hash TEXT NOT NULL,
    stopped_at BIGINT,
    how TEXT NOT NULL
);
CREATE INDEX worker_alive ON worker (id) WHERE stopped_at IS NULL;

-- (task_id, number) is the fence: numbers rise with every claim and are never used again.
CREATE TABLE attempt (
    task_id TEXT COLLATE "C" NOT NULL REFERENCES task (id),
    number INTEGER NOT NULL,
    worker_id TEXT COLLATE "C" NOT NULL REFERENCES worker (id),
    host TEXT NOT NULL,
    iteration INTEGER NOT NULL,
    started_at BIGINT NOT NULL,
    canary INTEGER NOT NULL,
    forced INTEGER NOT NULL,
    pid INTEGER,
    pid_start BIGINT,
    log_path TEXT NOT NULL,
    ended_at BIGINT,
    outcome TEXT,
    exit_code INTEGER,
    signal INTEGER,
    charged INTEGER NOT NULL,
    diagnosis TEXT,
    guidance TEXT NOT NULL,
    policy_hash TEXT NOT NULL,
    PRIMARY KEY (task_id, number)
);
CREATE UNIQUE INDEX attempt_live ON attempt (task_id) WHERE ended_at IS NULL;
CREATE INDEX attempt_live_by_worker ON attempt (worker_id, task_id) WHERE ended_at IS NULL;
CREATE INDEX attempt_worker ON attempt (worker_id, task_id);

CREATE TABLE attempt_output (
    task_id TEXT COLLATE "C" NOT NULL,
    number INTEGER NOT NULL,
    head TEXT NOT NULL,
    tail TEXT NOT NULL,
    total_bytes BIGINT NOT NULL,
    result TEXT,
    PRIMARY KEY (task_id, number)
);

CREATE TABLE retry (
    task_id TEXT COLLATE "C" NOT NULL REFERENCES task (id),
    attempt INTEGER NOT NULL,
    category TEXT NOT NULL,
    action TEXT NOT NULL,
    scheduled_at BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    delay_ms BIGINT NOT NULL,
    error TEXT NOT NULL,
    guidance TEXT NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    executed_at BIGINT,
    outcome TEXT,
    policy_hash TEXT NOT NULL,
    PRIMARY KEY (task_id, attempt)
);
CREATE UNIQUE INDEX retry_pending ON retry (task_id) WHERE status = 'pending';
CREATE INDEX retry_pending_due ON retry (due_at, task_id) WHERE status = 'pending';
CREATE INDEX retry_closed ON retry (scheduled_at) WHERE status <> 'pending';

CREATE TABLE history (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task_id TEXT COLLATE "C" NOT NULL REFERENCES task (id),
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    actor TEXT NOT NULL,
    reason TEXT NOT NULL,
    context TEXT NOT NULL,
    at BIGINT NOT NULL
);
CREATE INDEX history_task ON history (task_id, id);

-- Written last in its transaction, under a lock: numbers follow the order of commits. `xid` says with what it came.
CREATE TABLE event (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at BIGINT NOT NULL,
    name TEXT NOT NULL,
    task_id TEXT COLLATE "C",
    attempt INTEGER,
    data TEXT NOT NULL,
    xid XID8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX event_task ON event (task_id, seq) WHERE task_id IS NOT NULL;

CREATE TABLE effect (
    key TEXT COLLATE "C" PRIMARY KEY,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    tries INTEGER NOT NULL,
    due_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    error TEXT NOT NULL
);
CREATE INDEX effect_due ON effect (due_at, key) WHERE status = 'pending';

CREATE TABLE question (
    id TEXT COLLATE "C" PRIMARY KEY,
    need TEXT NOT NULL,
    why TEXT NOT NULL,
    evidence TEXT NOT NULL,
    options TEXT NOT NULL,
    default_option INTEGER NOT NULL,
    scope TEXT COLLATE "C",
    status TEXT COLLATE "C" NOT NULL,
    asked_at BIGINT NOT NULL,
    answered_at BIGINT,
    answered_by TEXT NOT NULL,
    answer TEXT NOT NULL
);
CREATE INDEX question_open ON question (asked_at, id) WHERE status = 'open';
CREATE UNIQUE INDEX question_scope ON question (scope) WHERE status = 'open' AND scope IS NOT NULL;

-- One open question per task, enforced here; several tasks may share one.
CREATE TABLE question_task (
    question_id TEXT COLLATE "C" NOT NULL REFERENCES question (id),
    task_id TEXT COLLATE "C" NOT NULL REFERENCES task (id),
    waiting INTEGER NOT NULL,
    PRIMARY KEY (question_id, task_id)
);
CREATE UNIQUE INDEX question_task_waiting ON question_task (task_id) WHERE waiting = 1;

CREATE TABLE breaker (
    key TEXT COLLATE "C" PRIMARY KEY,
    kind TEXT NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    why TEXT NOT NULL,
    opened_by TEXT NOT NULL,
    opened_at BIGINT NOT NULL,
    until BIGINT,
    probe_at BIGINT,
    failures INTEGER NOT NULL,
    successes INTEGER NOT NULL,
    canary_task TEXT COLLATE "C",
    canary_number INTEGER,
    data TEXT NOT NULL
);
CREATE INDEX breaker_open ON breaker (key) WHERE state <> 'closed';

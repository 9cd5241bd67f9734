-- Stories, the runs of their phases, what was decided in them, and their workflows as they were when a story began.
CREATE TABLE workflow_definition (
    hash TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    text TEXT NOT NULL
);

CREATE TABLE story (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    workflow TEXT NOT NULL,
    definition TEXT NOT NULL,
    criteria TEXT NOT NULL,
    priority INTEGER NOT NULL,
    depends_on TEXT NOT NULL,
    enforcement TEXT NOT NULL,
    multiplier REAL NOT NULL,
    root TEXT NOT NULL,
    project TEXT NOT NULL,
    blocked_from TEXT NOT NULL,
    elaborated INTEGER NOT NULL,
    has_review INTEGER NOT NULL,
    driven INTEGER NOT NULL,
    until TEXT NOT NULL,
    queue TEXT NOT NULL,
    waiting INTEGER NOT NULL,
    rounds INTEGER NOT NULL,
    rounds_granted INTEGER NOT NULL,
    fast INTEGER NOT NULL,
    parts TEXT NOT NULL,
    split_of TEXT NOT NULL,
    confirmed TEXT NOT NULL,
    evidence TEXT NOT NULL,
    forgiven INTEGER NOT NULL,
    run INTEGER NOT NULL,
    runs INTEGER NOT NULL,
    questions INTEGER NOT NULL,
    files_due INTEGER NOT NULL,
    files_by TEXT NOT NULL,
    files_until INTEGER,
    directory TEXT NOT NULL,
    merged INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    status TEXT NOT NULL,
    since INTEGER NOT NULL,
    reason TEXT NOT NULL,
    version INTEGER NOT NULL,
    ended_at INTEGER
);
CREATE INDEX story_listed ON story (created_at, id);
CREATE INDEX story_conducted ON story (priority, created_at, id) WHERE files_due = 1 OR driven = 1 OR run > 0;

CREATE TABLE phase_run (
    story_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    phase TEXT NOT NULL,
    command TEXT NOT NULL,
    status TEXT NOT NULL,
    verdict TEXT NOT NULL,
    error_type TEXT NOT NULL,
    summary TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    prepared_at INTEGER,
    ended_at INTEGER,
    completed_at INTEGER,
    parts TEXT NOT NULL,
    rules TEXT NOT NULL,
    context TEXT NOT NULL,
    result TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (story_id, number)
);

CREATE TABLE story_decision (
    story_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    phase TEXT NOT NULL,
    question TEXT NOT NULL,
    options TEXT NOT NULL,
    kind TEXT NOT NULL,
    why TEXT NOT NULL,
    answer TEXT NOT NULL,
    answered_by TEXT NOT NULL,
    question_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (story_id, number)
);
CREATE INDEX story_decision_question ON story_decision (question_id) WHERE question_id <> '';

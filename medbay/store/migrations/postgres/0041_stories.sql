-- Stories, the runs of their phases, what was decided in them, and their workflows as they were when a story began.
CREATE TABLE workflow_definition (
    hash TEXT COLLATE "C" PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C" NOT NULL
);

CREATE TABLE story (
    id TEXT COLLATE "C" PRIMARY KEY,
    title TEXT COLLATE "C" NOT NULL,
    description TEXT COLLATE "C" NOT NULL,
    workflow TEXT COLLATE "C" NOT NULL,
    definition TEXT COLLATE "C" NOT NULL,
    criteria TEXT COLLATE "C" NOT NULL,
    priority INTEGER NOT NULL,
    depends_on TEXT COLLATE "C" NOT NULL,
    enforcement TEXT COLLATE "C" NOT NULL,
    multiplier DOUBLE PRECISION NOT NULL,
    root TEXT COLLATE "C" NOT NULL,
    project TEXT COLLATE "C" NOT NULL,
    blocked_from TEXT COLLATE "C" NOT NULL,
    elaborated INTEGER NOT NULL,
    has_review INTEGER NOT NULL,
    driven INTEGER NOT NULL,
    until TEXT COLLATE "C" NOT NULL,
    queue TEXT COLLATE "C" NOT NULL,
    waiting INTEGER NOT NULL,
    rounds INTEGER NOT NULL,
    rounds_granted INTEGER NOT NULL,
    fast INTEGER NOT NULL,
    parts TEXT COLLATE "C" NOT NULL,
    split_of TEXT COLLATE "C" NOT NULL,
    confirmed TEXT COLLATE "C" NOT NULL,
    evidence TEXT COLLATE "C" NOT NULL,
    forgiven INTEGER NOT NULL,
    run INTEGER NOT NULL,
    runs INTEGER NOT NULL,
    questions INTEGER NOT NULL,
    files_due INTEGER NOT NULL,
    files_by TEXT COLLATE "C" NOT NULL,
    files_until BIGINT,
    directory TEXT COLLATE "C" NOT NULL,
    merged INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    since BIGINT NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    ended_at BIGINT
);
CREATE INDEX story_listed ON story (created_at, id);
CREATE INDEX story_conducted ON story (priority, created_at, id) WHERE files_due = 1 OR driven = 1 OR run > 0;

CREATE TABLE phase_run (
    story_id TEXT COLLATE "C" NOT NULL,
    number INTEGER NOT NULL,
    phase TEXT COLLATE "C" NOT NULL,
    command TEXT COLLATE "C" NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    verdict TEXT COLLATE "C" NOT NULL,
    error_type TEXT COLLATE "C" NOT NULL,
    summary TEXT COLLATE "C" NOT NULL,
    started_at BIGINT NOT NULL,
    prepared_at BIGINT,
    ended_at BIGINT,
    completed_at BIGINT,
    parts TEXT COLLATE "C" NOT NULL,
    rules TEXT COLLATE "C" NOT NULL,
    context TEXT COLLATE "C" NOT NULL,
    result TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (story_id, number)
);

CREATE TABLE story_decision (
    story_id TEXT COLLATE "C" NOT NULL,
    number INTEGER NOT NULL,
    phase TEXT COLLATE "C" NOT NULL,
    question TEXT COLLATE "C" NOT NULL,
    options TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    why TEXT COLLATE "C" NOT NULL,
    answer TEXT COLLATE "C" NOT NULL,
    answered_by TEXT COLLATE "C" NOT NULL,
    question_id TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (story_id, number)
);
CREATE INDEX story_decision_question ON story_decision (question_id) WHERE question_id <> '';

-- What is known of failures: one row per fingerprint, the advice given against it, the tasks that met it.
CREATE TABLE failure_pattern (
    fingerprint TEXT COLLATE "C" PRIMARY KEY,
    category TEXT NOT NULL,
    subcategory TEXT,
    summary TEXT NOT NULL,
    excerpt TEXT NOT NULL,
    count INTEGER NOT NULL,
    first_seen BIGINT NOT NULL,
    last_seen BIGINT NOT NULL,
    taught_category TEXT,
    taught_subcategory TEXT,
    taught_by TEXT NOT NULL,
    taught_at BIGINT
);
CREATE INDEX failure_pattern_seen ON failure_pattern (last_seen DESC, fingerprint);
CREATE INDEX failure_pattern_count ON failure_pattern (count DESC, fingerprint);

CREATE TABLE failure_advice (
    fingerprint TEXT COLLATE "C" NOT NULL,
    advice TEXT COLLATE "C" NOT NULL,
    given INTEGER NOT NULL,
    cured INTEGER NOT NULL,
    last_given BIGINT NOT NULL,
    PRIMARY KEY (fingerprint, advice)
);

CREATE TABLE failure_task (
    fingerprint TEXT COLLATE "C" NOT NULL,
    task_id TEXT COLLATE "C" NOT NULL,
    last_seen BIGINT NOT NULL,
    PRIMARY KEY (fingerprint, task_id)
);

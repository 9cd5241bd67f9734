-- The steps of records that have a lifecycle and are no tasks, whatever their kind.
CREATE TABLE record_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    record_id TEXT NOT NULL,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    actor TEXT NOT NULL,
    reason TEXT NOT NULL,
    context TEXT NOT NULL,
    at BIGINT NOT NULL
);
CREATE INDEX record_history_of ON record_history (kind, record_id, id);

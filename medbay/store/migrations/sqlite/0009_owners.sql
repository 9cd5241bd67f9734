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

-- A question is about a record of any kind: a task, or what is held. Any words may answer it where it says so.
ALTER TABLE question ADD COLUMN owner_kind TEXT NOT NULL DEFAULT '';
ALTER TABLE question ADD COLUMN owner_id TEXT NOT NULL DEFAULT '';
ALTER TABLE question ADD COLUMN free_text INTEGER NOT NULL DEFAULT 0;
UPDATE question SET owner_kind = 'task',
    owner_id = (SELECT min(w.task_id) FROM question_task w WHERE w.question_id = question.id)
    WHERE EXISTS (SELECT 1 FROM question_task w WHERE w.question_id = question.id);
UPDATE question SET
    owner_kind = (SELECT CASE WHEN b.kind = 'incident' THEN 'incident' ELSE 'hold' END
        FROM breaker b WHERE b.question_id = question.id ORDER BY b.key LIMIT 1),
    owner_id = (SELECT b.key FROM breaker b WHERE b.question_id = question.id ORDER BY b.key LIMIT 1)
    WHERE EXISTS (SELECT 1 FROM breaker b WHERE b.question_id = question.id);

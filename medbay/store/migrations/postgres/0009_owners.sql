-- One relation: a task may belong to something (a task, an incident, a loop) and has a role and a position there. It
-- replaces the task that it served, its loop with its place in that, and the depth, which is how many owners are above it;
-- that column stays and nobody reads it, because SQLite before 3.35 cannot drop one.
DROP INDEX task_loop;
DROP INDEX task_subject;
ALTER TABLE task RENAME COLUMN subject TO owner_id;
ALTER TABLE task ALTER COLUMN owner_id TYPE TEXT COLLATE "C";
ALTER TABLE task RENAME COLUMN loop_place TO position;
ALTER TABLE task RENAME COLUMN loop TO owner_kind;
-- Of a triage: the key of the incident it looks at. Until now the beginning of its id said so.
ALTER TABLE triage ADD COLUMN incident TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE triage SET incident = 'incident:' || fingerprint WHERE substr(id, 1, 17) = '.triage-incident-';
-- A loop comes first: what is a member of one has its turn there, and nothing else waits for its end by itself.
UPDATE task SET owner_id = owner_kind, owner_kind = 'loop', role = '' WHERE owner_kind <> '';
UPDATE task SET owner_kind = 'task' WHERE owner_kind = '' AND owner_id <> '';
UPDATE task SET owner_kind = 'incident', owner_id = (SELECT x.incident FROM triage x
        WHERE x.incident <> '' AND (x.id = task.id OR x.id = task.created_by))
    WHERE owner_kind = 'task' AND role IN ('triage', 'fix') AND EXISTS (SELECT 1 FROM triage x
        WHERE x.incident <> '' AND (x.id = task.id OR x.id = task.created_by));
CREATE INDEX task_owner ON task (owner_kind, owner_id, role, position, id) WHERE owner_kind <> '';

-- The steps of records that have a lifecycle and are no tasks, whatever their kind.
CREATE TABLE record_history (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind TEXT COLLATE "C" NOT NULL,
    record_id TEXT COLLATE "C" NOT NULL,
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
ALTER TABLE question ADD COLUMN owner_id TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE question ADD COLUMN free_text INTEGER NOT NULL DEFAULT 0;
UPDATE question SET owner_kind = 'task',
    owner_id = (SELECT min(w.task_id) FROM question_task w WHERE w.question_id = question.id)
    WHERE EXISTS (SELECT 1 FROM question_task w WHERE w.question_id = question.id);
UPDATE question SET
    owner_kind = (SELECT CASE WHEN b.kind = 'incident' THEN 'incident' ELSE 'hold' END
        FROM breaker b WHERE b.question_id = question.id ORDER BY b.key LIMIT 1),
    owner_id = (SELECT b.key FROM breaker b WHERE b.question_id = question.id ORDER BY b.key LIMIT 1)
    WHERE EXISTS (SELECT 1 FROM breaker b WHERE b.question_id = question.id);

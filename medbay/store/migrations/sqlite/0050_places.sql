-- Where the attempts of a task run, where that is not the machine of its engine; and what engines know of such places.
ALTER TABLE task ADD COLUMN place TEXT NOT NULL DEFAULT '';
ALTER TABLE attempt ADD COLUMN place TEXT NOT NULL DEFAULT '';
ALTER TABLE worker ADD COLUMN places TEXT NOT NULL DEFAULT '[]';
-- What is ready is claimed for one place at a time: what waits for another costs nothing.
DROP INDEX task_claim;
CREATE INDEX task_claim ON task (queue, recovery, place, priority, ready_at, id)
    WHERE ready = 1 AND hold IS NULL AND crashes = 0;

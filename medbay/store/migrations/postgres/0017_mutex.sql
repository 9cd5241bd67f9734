-- At most one running task for each mutex, on all engines together: the index below is what holds that.
ALTER TABLE task ADD COLUMN mutex TEXT COLLATE "C" NOT NULL DEFAULT '';
CREATE UNIQUE INDEX task_mutex ON task (mutex) WHERE mutex <> '' AND live IS NOT NULL;
-- What waits behind each mutex, by queue: the claim reads the head of each, whatever waits behind it.
CREATE INDEX task_mutex_waiting ON task (queue, mutex, priority, ready_at, id)
    WHERE mutex <> '' AND hold = 'mutex:' || mutex;
-- What runs in a queue whose slots are limited.
CREATE INDEX task_live ON task (queue, id) WHERE live IS NOT NULL;
-- What the machine of an engine lacks, while retries wait for that.
ALTER TABLE worker ADD COLUMN short_of TEXT NOT NULL DEFAULT '';

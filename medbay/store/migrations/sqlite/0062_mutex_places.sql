-- The first that waits behind each mutex, for each place: what a place that is away would run holds nothing else back.
DROP INDEX task_mutex_waiting;
CREATE INDEX task_mutex_waiting ON task (queue, mutex, place, priority, ready_at, id)
    WHERE mutex <> '' AND hold = 'mutex:' || mutex;

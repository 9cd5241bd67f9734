-- What runs under a worker is found by the index of what is live; the other one is for what ever ran there.
DROP INDEX attempt_worker;
CREATE INDEX attempt_worker ON attempt (worker_id);

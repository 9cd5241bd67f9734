-- Tasks that run once per boot are found by the first engine after one.
CREATE INDEX task_per_boot ON task (queue, id) WHERE cron = '@reboot' AND status NOT IN ('completed', 'cancelled');

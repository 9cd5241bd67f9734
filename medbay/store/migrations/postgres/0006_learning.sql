-- Adaptive delays: what was tried after a class of failure, by the index; why a delay is not the schedule's.
ALTER TABLE retry ADD COLUMN learned TEXT NOT NULL DEFAULT '';
CREATE INDEX retry_tried ON retry (category, executed_at) WHERE outcome IS NOT NULL;

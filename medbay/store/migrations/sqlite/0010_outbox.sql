-- The outbox: how far each channel has read the event log, how it is doing, and what is on its way out.
ALTER TABLE effect ADD COLUMN channel TEXT NOT NULL DEFAULT '';
-- Those of one lane follow each other by seq.
ALTER TABLE effect ADD COLUMN lane TEXT NOT NULL DEFAULT '';
ALTER TABLE effect ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE effect ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE effect ADD COLUMN lease_until INTEGER NOT NULL DEFAULT 0;
ALTER TABLE effect ADD COLUMN ended_at INTEGER;
CREATE INDEX effect_lane ON effect (lane, seq) WHERE status = 'pending';
CREATE INDEX effect_over ON effect (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE channel (
    name TEXT PRIMARY KEY,
    delivered_at INTEGER,
    failing_since INTEGER,
    error TEXT NOT NULL
);
CREATE TABLE channel_cursor (
    channel TEXT NOT NULL,
    filter TEXT NOT NULL,
    seq INTEGER NOT NULL,
    moved_at INTEGER NOT NULL,
    PRIMARY KEY (channel, filter)
);

-- The outbox: how far each channel has read the event log, how it is doing, and what is on its way out.
ALTER TABLE effect ADD COLUMN channel TEXT NOT NULL DEFAULT '';
-- Those of one lane follow each other by seq.
ALTER TABLE effect ADD COLUMN lane TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE effect ADD COLUMN seq BIGINT NOT NULL DEFAULT 0;
ALTER TABLE effect ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE effect ADD COLUMN lease_until BIGINT NOT NULL DEFAULT 0;
ALTER TABLE effect ADD COLUMN ended_at BIGINT;
CREATE INDEX effect_lane ON effect (lane, seq) WHERE status = 'pending';
CREATE INDEX effect_over ON effect (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE channel (
    name TEXT COLLATE "C" PRIMARY KEY,
    delivered_at BIGINT,
    failing_since BIGINT,
    error TEXT NOT NULL
);
CREATE TABLE channel_cursor (
    channel TEXT COLLATE "C" NOT NULL,
    filter TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    moved_at BIGINT NOT NULL,
    PRIMARY KEY (channel, filter)
);

-- Figures by hour, made from the event log by whoever wants them: how often, and a sum, of a kind under three names.
CREATE TABLE statistic (
    kind TEXT COLLATE "C" NOT NULL,
    hour BIGINT NOT NULL,
    a TEXT COLLATE "C" NOT NULL,
    b TEXT COLLATE "C" NOT NULL,
    c TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    total BIGINT NOT NULL,
    PRIMARY KEY (kind, hour, a, b, c)
);
-- What is still under way where the log was read to: failures in a row since when, and whether a person had a hand in it.
CREATE TABLE statistic_open (
    kind TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    failures BIGINT NOT NULL,
    since BIGINT NOT NULL,
    category TEXT NOT NULL,
    person INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
);

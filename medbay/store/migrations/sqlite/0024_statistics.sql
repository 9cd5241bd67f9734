-- Figures by hour, made from the event log by whoever wants them: how often, and a sum, of a kind under three names.
CREATE TABLE statistic (
    kind TEXT NOT NULL,
    hour INTEGER NOT NULL,
    a TEXT NOT NULL,
    b TEXT NOT NULL,
    c TEXT NOT NULL,
    number INTEGER NOT NULL,
    total INTEGER NOT NULL,
    PRIMARY KEY (kind, hour, a, b, c)
);
-- What is still under way where the log was read to: failures in a row since when, and whether a person had a hand in it.
CREATE TABLE statistic_open (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    failures INTEGER NOT NULL,
    since INTEGER NOT NULL,
    category TEXT NOT NULL,
    person INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
);

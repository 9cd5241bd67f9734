-- What reviews and gates refused, for the role that is told of it.
CREATE TABLE learning (
    role TEXT NOT NULL,
    digest TEXT NOT NULL,
    text TEXT NOT NULL,
    story_id TEXT NOT NULL,
    phase TEXT NOT NULL,
    count INTEGER NOT NULL,
    first_seen INTEGER NOT NULL,
    last_seen INTEGER NOT NULL,
    PRIMARY KEY (role, digest)
);
CREATE INDEX learning_newest ON learning (last_seen);

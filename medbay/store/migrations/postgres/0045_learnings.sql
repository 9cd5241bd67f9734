-- What reviews and gates refused, for the role that is told of it.
CREATE TABLE learning (
    role TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    story_id TEXT COLLATE "C" NOT NULL,
    phase TEXT COLLATE "C" NOT NULL,
    count BIGINT NOT NULL,
    first_seen BIGINT NOT NULL,
    last_seen BIGINT NOT NULL,
    PRIMARY KEY (role, digest)
);
CREATE INDEX learning_newest ON learning (last_seen);

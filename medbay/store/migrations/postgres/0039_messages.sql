-- Where the messages of a question are, so that how it ended can be written into them; and who hears the buttons of a bot.
CREATE TABLE message (
    key TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    channel TEXT COLLATE "C" NOT NULL,
    question_id TEXT COLLATE "C" NOT NULL,
    place TEXT NOT NULL,
    sent_at BIGINT NOT NULL
);
CREATE INDEX message_question ON message (question_id);
CREATE TABLE listener (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL,
    lease_until BIGINT NOT NULL,
    position BIGINT NOT NULL
);

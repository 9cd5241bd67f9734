-- Where the messages of a question are, so that how it ended can be written into them; and who hears the buttons of a bot.
CREATE TABLE message (
    key TEXT NOT NULL PRIMARY KEY,
    channel TEXT NOT NULL,
    question_id TEXT NOT NULL,
    place TEXT NOT NULL,
    sent_at INTEGER NOT NULL
);
CREATE INDEX message_question ON message (question_id);
CREATE TABLE listener (
    name TEXT NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL,
    lease_until INTEGER NOT NULL,
    position INTEGER NOT NULL
);

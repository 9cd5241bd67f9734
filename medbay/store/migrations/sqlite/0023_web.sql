-- Who may open the page: one token per person, of which only the digest is kept.
CREATE TABLE web_token (
    name TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    added_at INTEGER NOT NULL,
    added_by TEXT NOT NULL
);

-- The share that each role has of a day's budget, and the role that an attempt reserved for.
CREATE TABLE budget_role (
    day TEXT NOT NULL,
    role TEXT NOT NULL,
    reserved_tokens BIGINT NOT NULL DEFAULT 0,
    reserved_cost BIGINT NOT NULL DEFAULT 0,
    used_tokens BIGINT NOT NULL DEFAULT 0,
    used_cost BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (day, role)
);
ALTER TABLE reservation ADD COLUMN role TEXT NOT NULL DEFAULT '';

-- What is parked and has another agent to go on with: looked through while an account is held.
CREATE INDEX task_fallback ON task (hold, id) WHERE hold IS NOT NULL AND agents <> '[]';

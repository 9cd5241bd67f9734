-- Which agent worked on an attempt, in which session, and what went in and came out.
ALTER TABLE attempt ADD COLUMN agent TEXT NOT NULL DEFAULT '';
ALTER TABLE attempt ADD COLUMN model TEXT NOT NULL DEFAULT '';
ALTER TABLE attempt ADD COLUMN session TEXT NOT NULL DEFAULT '';
ALTER TABLE attempt ADD COLUMN resumes TEXT NOT NULL DEFAULT '';
ALTER TABLE attempt ADD COLUMN tokens_in BIGINT;
ALTER TABLE attempt ADD COLUMN tokens_out BIGINT;
ALTER TABLE attempt ADD COLUMN tool_calls BIGINT;

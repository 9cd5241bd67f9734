-- How the work of an attempt failed, kept while an evaluator looks at it.
ALTER TABLE attempt ADD COLUMN failure TEXT;

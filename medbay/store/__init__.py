"""The only SQL. One transaction type, two dialects, migrations, claims; `now` is always bound, never asked in SQL."""

"""Row expiry: rows older than the spec's `keep_rows_for` leave the table."""

"""Every change of a table: what is staged, what is committed, and what the table remembers of it."""

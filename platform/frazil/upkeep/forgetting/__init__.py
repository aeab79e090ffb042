"""Forgetting: chosen rows leave a table, what was made of it, and in the end every file."""

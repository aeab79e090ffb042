"""Rows that go or move: which files hold them, what is left of those, and the audit of it."""

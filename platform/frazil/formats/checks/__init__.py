"""Expressions over the columns that records become: checks of the user's own, and which records are rows."""

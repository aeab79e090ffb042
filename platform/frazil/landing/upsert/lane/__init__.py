"""Upserts by columns: tasks decode changes, deal them out, and merge them with the rows of the table."""

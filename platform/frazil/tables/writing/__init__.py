"""Rows to data files: the one writer, which runs in Spark's tasks."""

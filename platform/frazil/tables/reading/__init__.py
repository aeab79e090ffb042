"""Rows of chosen data files, read by tasks of Spark."""

"""Debezium's envelope and types: the row of a change, and what is done with it."""

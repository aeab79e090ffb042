"""Targets that show a table to other engines: Glue and Snowflake."""

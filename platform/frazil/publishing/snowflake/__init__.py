"""Snowflake: volume, integration, table, view, refresh."""

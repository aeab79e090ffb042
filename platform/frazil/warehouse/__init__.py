"""Snowflake: volume, integration, Iceberg tables, views, refresh."""

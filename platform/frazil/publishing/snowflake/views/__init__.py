"""The views beside a table in Snowflake."""

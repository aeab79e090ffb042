"""A deployment's objects in Snowflake."""

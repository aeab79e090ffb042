"""How far each layer of a table is behind the one before it: the table, Glue, Snowflake."""

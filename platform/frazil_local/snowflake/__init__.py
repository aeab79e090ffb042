"""A stand-in for Snowflake on one machine: fakesnow, and what it lacks for Iceberg tables of Glue."""

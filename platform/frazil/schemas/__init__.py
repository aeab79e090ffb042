"""From a schema in the registry to the columns of an Iceberg table."""

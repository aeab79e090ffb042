"""Views beside a table: as queries, and as Iceberg views in the REST catalog."""

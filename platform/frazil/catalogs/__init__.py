"""The Iceberg catalog for PyIceberg and for Spark from one setting; Glue entries in step."""

"""The AWS stand-in: moto, with the lock and the memory that Iceberg needs of Glue."""

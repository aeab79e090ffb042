"""Iceberg tables of the stand-in, with their volumes and catalog integrations."""

"""Frazil: freezes Kafka topics into Apache Iceberg tables."""

"""Kafka topics that derived tables feed, exactly once."""

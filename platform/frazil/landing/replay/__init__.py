"""Offsets that a table holds are read from Kafka once more, and take the place of what is there of them."""

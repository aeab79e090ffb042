"""The Arrow lane: Spark's tasks decode and write by themselves, and return only what they did."""

"""A deployment's objects in Confluent Cloud."""

"""Avro's bytes to columns, in Spark's workers."""

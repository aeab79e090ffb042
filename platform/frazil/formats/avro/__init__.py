"""Avro: schema, and decoder."""

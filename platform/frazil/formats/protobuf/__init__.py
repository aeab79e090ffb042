"""Protobuf: schema, and decoder."""

"""Schemas and decoders: what a record says, and the columns that it becomes."""

"""JSON Schema, and its decoder."""

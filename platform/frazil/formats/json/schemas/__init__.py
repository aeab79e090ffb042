"""JSON Schemas: one flat schema of them, and its columns."""

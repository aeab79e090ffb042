"""Dagster resources: thin, typed; and what Dagster is told of the engine's work."""

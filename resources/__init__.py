"""Dagster resources: thin, typed, one module per outside system."""

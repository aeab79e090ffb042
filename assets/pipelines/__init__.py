"""Pipelines that come with Frazil: one folder each, with a defs.yaml in it."""

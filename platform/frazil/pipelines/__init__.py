"""Folders of pipelines: YAML files, read once, every mistake with its line."""

"""Spark sessions that know the catalog, and what their failures mean."""

"""The schema registry: its client, and the versions of a subject."""

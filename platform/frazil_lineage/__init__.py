"""Sends OpenLineage events of what was done to tables: the extra `lineage`."""

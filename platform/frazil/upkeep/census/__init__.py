"""Looking at tables: from a glance at the catalog's pointer to a count of every file."""

"""The columns of a topic's table: their names, and what becomes of fields that no column holds."""

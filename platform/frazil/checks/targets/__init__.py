"""What targets show of tables, compared with the tables."""

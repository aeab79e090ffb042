"""Commands that show tables, and change nothing."""

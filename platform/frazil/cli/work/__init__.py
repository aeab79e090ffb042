"""Commands that change tables, or where they stand."""

"""Who may see what of a table in Snowflake, and what it says: rights, tags, masking policies, comments."""

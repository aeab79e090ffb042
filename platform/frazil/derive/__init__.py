"""Table -> table: what is new in the inputs, through a query, into a table, exactly once."""

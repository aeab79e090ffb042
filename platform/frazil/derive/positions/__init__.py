"""Where a derived table stands in its inputs, and what is new in them."""

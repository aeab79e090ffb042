"""Where a table stands in its topic: which offsets it holds, what waits, and why it stands still."""

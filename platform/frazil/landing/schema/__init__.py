"""The table that a landing writes to follows its topic's schemas."""

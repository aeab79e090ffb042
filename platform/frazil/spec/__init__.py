"""What a user writes: topics, derived tables, their layout, upkeep and migrations."""

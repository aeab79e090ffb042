"""What all formats do with a batch of records, by columns."""

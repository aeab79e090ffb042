"""Made-up records for real topics, and a fast way to produce any."""

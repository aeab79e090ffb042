"""Fields that Confluent's clients encrypt by the rules of a schema (CSFLE): kept as they are, or opened."""

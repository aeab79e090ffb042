"""The stand-in's clusters: a real Kafka and its registry, behind keys and rights."""

"""The stand-in's Flink: statements, and what they do."""

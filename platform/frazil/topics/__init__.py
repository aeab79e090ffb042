"""Kafka topics: facts about them, and making them as a spec says."""

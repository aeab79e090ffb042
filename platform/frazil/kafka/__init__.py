"""Kafka: facts about topics, leader epochs, provisioning, clients."""

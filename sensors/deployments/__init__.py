"""Sensors of deployments in the clouds."""

"""Roles and policies of a deployment at AWS."""

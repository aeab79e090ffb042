"""Service accounts of a deployment, their rights and keys."""

"""The service user of a deployment, and the grants of its roles."""

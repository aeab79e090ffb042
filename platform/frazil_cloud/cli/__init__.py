"""The commands of deployments."""

"""The commands of the embedded stack."""

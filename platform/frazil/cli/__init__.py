"""The `frazil` command."""

"""The settings of each outside system."""

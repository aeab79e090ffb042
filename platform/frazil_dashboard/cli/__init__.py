"""The command of the dashboard."""

"""Commands for who writes pipelines."""

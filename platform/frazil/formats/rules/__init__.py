"""Conditions for readers in a schema's contract, asked of the records that were written by it."""

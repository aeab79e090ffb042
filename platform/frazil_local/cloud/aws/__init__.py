"""AWS on this machine: MiniStack checks who asks, and a judge refuses what it would let pass."""

ACCOUNT = "123456789012"

ROOT = "test"
"""The access key of the account's root, and its secret."""

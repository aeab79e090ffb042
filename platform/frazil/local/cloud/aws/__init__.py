"""AWS on this machine: MiniStack checks who asks, and a judge refuses what it would let pass."""

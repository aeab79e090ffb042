"""Tables that stay healthy: kinds of upkeep, which of it is due, and doing it."""

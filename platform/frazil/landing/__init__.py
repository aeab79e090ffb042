"""Topic to table, exactly once: plan, decode, write, audit, publish."""

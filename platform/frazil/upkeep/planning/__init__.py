"""What another freshness would cost a table: its history of arrivals, replayed."""

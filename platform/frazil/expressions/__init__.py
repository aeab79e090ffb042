"""Expressions that people write over rows: read once, and computed by columns or by Spark."""

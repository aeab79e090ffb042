"""Which records a spec leaves out, by an expression of SQL: docs/checks.md, "What a check may say"."""

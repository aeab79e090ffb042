"""A topic as a consumer sees it, and the schemas that its records name."""

"""Who the stand-in's users are, and what their roles may do."""

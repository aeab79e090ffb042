"""Whether the pipelines can work here: each system and each right that they need, asked for real."""

"""Fields whose values no row has as they came: docs/masks.md."""

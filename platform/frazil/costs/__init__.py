"""What tables cost: units that are measured, priced by a list (docs/cost.md)."""

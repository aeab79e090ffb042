"""Where things are, and who Frazil is there: one model per system, secrets by reference."""

"""Topics that move between Confluent's Tableflow and Frazil."""

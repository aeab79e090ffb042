"""The stand-in's Tableflow: its topics, and the tables that become of them."""

"""SELECTs, understood without a server: inputs, legality, columns and types, lineage."""

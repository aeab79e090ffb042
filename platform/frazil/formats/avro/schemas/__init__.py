"""Avro's schemas: their text, their columns, and which reads what another wrote."""

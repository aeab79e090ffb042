"""JSON without a schema, of which the spec lists the fields that become columns."""

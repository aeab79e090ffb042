"""What a JSON Schema asks of values beyond their types: `validate: strict`."""

"""What object_store does with S3 that PyArrow's client can't: encrypt by a key, delete many files at once."""

"""What topics hold, by metadata and some records, and the files of a pipeline that would land them."""

"""A table as its files say it is: metadata, manifests, Parquet."""

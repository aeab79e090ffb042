"""What a table's metadata says: snapshots, manifests, and the files that they name."""

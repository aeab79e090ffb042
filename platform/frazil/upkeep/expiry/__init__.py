"""Old snapshots go, with the files that only they name."""

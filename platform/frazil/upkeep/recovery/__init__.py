"""The catalog is lost: tables come back from what lies in the bucket. See docs/disaster.md."""

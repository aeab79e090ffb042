"""Tables that stay healthy: census, compaction, snapshot expiry, orphan files, row expiry."""

"""From bytes to columns: one decoder per format, for keys and values alike."""

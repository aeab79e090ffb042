"""Commands that tell what tables cost."""

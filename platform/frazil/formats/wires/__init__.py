"""What stands before a payload, or beside it, and says by which schema it was written."""

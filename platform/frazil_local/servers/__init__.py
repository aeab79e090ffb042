"""The servers of the stack: how each is set up and started."""

"""The embedded stack: real servers on loopback, for trying, testing and developing."""

"""Tables that nobody lands into, and those that go on."""

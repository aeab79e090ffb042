"""Checks that compare layers with each other and say what they compared, in numbers."""

"""Checks of the user's own: what tasks see of them, what that says together, and what follows."""

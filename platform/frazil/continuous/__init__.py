"""`frazil run`: tables that follow their topics all the time."""

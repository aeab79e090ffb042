"""The statements that the stand-in adds to fakesnow, from SQL text to objects."""

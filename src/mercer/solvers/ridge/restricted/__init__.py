"""Ridge on the functions that a few centres span."""

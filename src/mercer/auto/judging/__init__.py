"""What a fit of a table is worth, and what to do about it."""

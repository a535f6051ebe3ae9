"""What is drawn of a fitted state: pure functions that return arrays."""

"""The search for a model of a table."""

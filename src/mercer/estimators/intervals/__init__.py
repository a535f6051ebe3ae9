"""Intervals of every regressor: which method makes them, and the models without some points that it needs."""

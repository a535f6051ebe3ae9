"""Losses of targets that are not negative, whose output is the logarithm of their mean."""

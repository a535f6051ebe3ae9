"""Estimators that find groups of points."""

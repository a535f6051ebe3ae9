"""Losses: what a wrong value costs."""

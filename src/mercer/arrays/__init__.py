"""Foundations: NumPy and torch as one namespace, places, memory budgets and threads."""

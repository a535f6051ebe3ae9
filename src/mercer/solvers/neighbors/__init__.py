"""Nearest neighbours in the space of a kernel."""

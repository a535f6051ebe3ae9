"""Machines on a torch device, many at a time."""

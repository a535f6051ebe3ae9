"""Losses: what a wrong value costs, how fast that changes, and its convex conjugate, of single points.

A loss is a value without data.  Its methods take outputs of a function and what was observed, a row for each point,
and are written for arrays and tensors alike; sums over weighted points belong to the solvers.
"""

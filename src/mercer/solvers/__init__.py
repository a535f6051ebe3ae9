"""Solvers: one algorithm a file, prepare once and solve for many penalties, each with its certificate."""

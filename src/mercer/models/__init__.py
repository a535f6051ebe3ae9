"""Estimators: validate, resolve the kernel, ask the plan for a solver, keep the expansion."""

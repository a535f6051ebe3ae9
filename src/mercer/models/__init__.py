"""Estimators: validate, resolve the kernel, ask the plan for a solver, keep the expansion."""

from .ridge import KernelRidge
from .ridge_classifier import KernelRidgeClassifier
from .ridge_cv import KernelRidgeCV

__all__ = ["KernelRidge", "KernelRidgeCV", "KernelRidgeClassifier"]

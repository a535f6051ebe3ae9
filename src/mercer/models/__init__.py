"""Estimators: validate, resolve the kernel, ask the plan for a solver, keep the expansion."""

from .one_class import OneClassSVM
from .ridge import KernelRidge
from .ridge_classifier import KernelRidgeClassifier
from .ridge_cv import KernelRidgeCV
from .svm import SVC, NuSVC
from .svr import SVR, NuSVR

__all__ = ["SVC", "SVR", "KernelRidge", "KernelRidgeCV", "KernelRidgeClassifier", "NuSVC", "NuSVR", "OneClassSVM"]

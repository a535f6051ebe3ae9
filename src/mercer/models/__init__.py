"""Estimators: validate, resolve the kernel, ask the plan for a solver, keep the expansion."""

from typing import TYPE_CHECKING, Any

from mercer.distributed.engine import run_elsewhere
from mercer.estimators.engine import hand_over, is_collection
from mercer.messages import MODELS, list_public, refuse_name
from mercer.stored.engine import run_stored
from mercer.stored.table import has_stored

from .any_loss.classifier import KernelClassifier
from .any_loss.classifier_cv import KernelClassifierCV
from .any_loss.quantile import KernelQuantileRegressor
from .any_loss.regressor import KernelRegressor
from .any_loss.regressor_cv import KernelRegressorCV
from .cca import KernelCCA
from .cells.classifier import CellSVC
from .cells.regressor import CellSVR
from .clusters.kmeans import KernelKMeans
from .clusters.spectral import KernelSpectralClustering
from .import_vector import ImportVectorMachine
from .learned.classifier import RecursiveFeatureClassifier
from .learned.multiple_classifier import MultipleKernelClassifier
from .learned.multiple_ridge import MultipleKernelRidge
from .learned.regressor import RecursiveFeatureRegressor
from .logistic import KernelLogisticRegression
from .logistic_cv import KernelLogisticRegressionCV
from .neighbors import KernelNeighborsClassifier, KernelNeighborsRegressor
from .one_class import OneClassSVM
from .parzen import ParzenClassifier, ParzenRegressor
from .parzen_density import ParzenDensity
from .pca import KernelPCA
from .perceptron import KernelPerceptron
from .ridge import KernelRidge
from .ridge_classifier import KernelRidgeClassifier
from .ridge_cv import KernelRidgeCV
from .svm import SVC, NuSVC
from .svm_cv import SVCCV, SVRCV
from .svr import SVR, NuSVR

hand_over(run_elsewhere, is_collection)
hand_over(run_stored, has_stored)

__all__ = [
    "SVC",
    "SVCCV",
    "SVR",
    "SVRCV",
    "CellSVC",
    "CellSVR",
    "ImportVectorMachine",
    "KernelCCA",
    "KernelClassifier",
    "KernelClassifierCV",
    "KernelKMeans",
    "KernelLogisticRegression",
    "KernelLogisticRegressionCV",
    "KernelNeighborsClassifier",
    "KernelNeighborsRegressor",
    "KernelPCA",
    "KernelPerceptron",
    "KernelQuantileRegressor",
    "KernelRegressor",
    "KernelRegressorCV",
    "KernelRidge",
    "KernelRidgeCV",
    "KernelRidgeClassifier",
    "KernelSpectralClustering",
    "MultipleKernelClassifier",
    "MultipleKernelRidge",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "ParzenClassifier",
    "ParzenDensity",
    "ParzenRegressor",
    "RecursiveFeatureClassifier",
    "RecursiveFeatureRegressor",
]

if not TYPE_CHECKING:  # for which there is no name that is not above

    def __getattr__(name: str) -> Any:
        raise refuse_name(globals(), name, MODELS)

    def __dir__() -> list[str]:
        return list_public(globals())

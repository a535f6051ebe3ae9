"""The table of all types that a model file may hold.

A name in a file is looked up here and nowhere else.  To let files hold a new kernel, add it to ``KERNELS``; a new
estimator, to ``ESTIMATORS``, with what it needs to predict, and its new attributes to ``FITTED``.  A test fits all
estimators and says which attribute is missing here.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import model_selection
from sklearn.kernel_approximation import PolynomialCountSketch

from mercer import features, kernels, models
from mercer.arrays.budget import parse_memory
from mercer.certify import verdict
from mercer.distributed import ClusterPlan
from mercer.estimators import kernels as _kernel_argument
from mercer.estimators.machines.base import DualityGap
from mercer.expansion import Expansion, ExplicitFunction
from mercer.features import composition, polynomial, trigonometric
from mercer.features.graphs import Substructures
from mercer.features.strings import Vocabulary
from mercer.features.trees import Subtrees
from mercer.formula import data
from mercer.kernels import Graph, Kernel, algebra, mapping, pullback, theorem
from mercer.kernels.sequences import alignment as sequences
from mercer.kernels.trees import forest as trees_forest
from mercer.solvers.base import Problem
from mercer.solvers.neighbors.votes import Neighbors
from mercer.solvers.perceptron.solver import Kept, Mistakes
from mercer.solvers.plan import Plan
from mercer.solvers.ridge.diagnosis import Diagnosis
from mercer.solvers.windows import shapes as _parzen_windows
from mercer.solvers.windows.fits import ClassWindows, DensityWindows, MeanWindows

from ._entries import Entry, Fitted, Kinds, Record, Values, from_dataclass
from .errors import ModelFileError

NOTHING = type(None)
ANY: Kinds = (object,)
ARRAY: Kinds = (np.ndarray,)
MATRIX: Kinds = (np.ndarray, sparse.sparray, sparse.spmatrix)
WHOLE: Kinds = (int, np.integer)
NUMBER: Kinds = (int, float, np.number)
NUMBERS: Kinds = (*NUMBER, np.ndarray)
TEXT: Kinds = (str,)
FLAG: Kinds = (bool, np.bool_)
FUNCTION: Kinds = (Expansion,)

KERNELS: tuple[type[Kernel], ...] = (
    *(getattr(kernels, name) for name in (
        "Chi2", "Constant", "Cosine", "Custom", "Edit", "Fourier", "FromFeatures", "GappedKmer", "Gaussian",
        "GlobalAlignment", "Intersection", "Laplacian", "Linear", "Matern", "MeanEmbedding", "Mismatch", "Overlap",
        "PairSum", "PartialTree", "Periodic", "Polynomial", "Precomputed", "RandomWalk", "RationalQuadratic",
        "ShortestPath", "Sigmoid", "Sinc", "Spectrum", "Subsequence", "SubsetTree", "Subtree", "WeightedDegree",
        "WeisfeilerLehman", "WeisfeilerLehmanAssignment",
    )),
    algebra.Exp, algebra.Normalized, algebra.Power, algebra.Product, algebra.Scaled, algebra.Sum,
    pullback.After, pullback.On, sequences.NormalizedAlignment, _kernel_argument.PairwiseKernel,
    _parzen_windows.CosineWindow, _parzen_windows.EpanechnikovWindow, _parzen_windows.TriangularWindow,
    _parzen_windows.UniformWindow,
)  # fmt: skip

# What a fit sets, whichever estimator it is of: a name means the same everywhere.
FITTED: dict[str, Kinds] = {
    # data
    "n_features_in_": WHOLE, "feature_names_in_": ARRAY, "n_samples_fit_": WHOLE, "X_fit_": ANY, "_X_fit": ANY,
    "support_vectors_": ANY, "import_vectors_": ANY, "centers_": ANY, "_centers": ANY, "shape_fit_": (tuple,),
    "classes_": (np.ndarray, list), "class_prior_": ARRAY, "class_weight_": ARRAY,
    "outputs_2d_": FLAG, "_targets": (np.ndarray, NOTHING), "_codes": ARRAY, "_members": ARRAY,
    "_weights": (np.ndarray, NOTHING), "weights_": ARRAY, "_single": FLAG,
    # the function
    "kernel_": (Kernel, NOTHING), "dual_coef_": MATRIX, "intercept_": NUMBERS, "expansion_": FUNCTION, "_coef": MATRIX,
    "_function": FUNCTION, "offset_": NUMBERS, "_offset": ARRAY,
    "support_": ARRAY, "n_support_": ARRAY, "epsilon_": NUMBER, "import_indices_": ARRAY, "n_import_vectors_": WHOLE,
    "n_vectors_": WHOLE,
    "_problem": (Problem, NOTHING), "_penalty": ARRAY, "_kept": (np.ndarray, Kept, NOTHING),
    "_neighbors": (Neighbors,), "_windows": (ClassWindows, DensityWindows, MeanWindows),
    "eigenvalues_": ARRAY, "eigenvectors_": ARRAY, "X_transformed_fit_": ARRAY, "eigen_solver_": TEXT,
    # what was chosen
    "alpha_": NUMBERS, "alphas_": ARRAY, "C_": NUMBER, "gamma_": ANY, "_gamma": NUMBER, "length_scale_": ANY,
    "path_": (dict,), "cv_results_": (dict,), "best_index_": WHOLE, "best_params_": (dict,), "best_score_": NUMBER,
    "loo_errors_": ARRAY, "loo_accuracy_": NUMBER, "_loo": (np.ndarray, NOTHING), "_loo_score": NUMBER,
    "loo_length_scales_": ARRAY, "loo_losses_": ARRAY, "n_loo_points_": WHOLE,
    "ridge_": (models.KernelRidge,), "regressor_": (models.KernelRidge,), "inverse_": (models.KernelRidge,),
    "logistic_": (models.KernelLogisticRegression,), "best_estimator_": (models.SVC, models.SVR),
    # how well it was solved
    "plan_": (Plan, str), "residual_": NUMBER, "n_iter_": (*WHOLE, np.ndarray), "converged_": FLAG,
    "fit_status_": WHOLE, "violation_": NUMBER, "duality_gap_": (*NUMBER, DualityGap), "objective_": NUMBER,
    "restricted_gap_": NUMBER, "_probA": ARRAY, "_probB": ARRAY,
    "objective_history_": ARRAY, "mistakes_": ARRAY, "n_mistakes_": WHOLE, "radius_": NUMBER, "margin_": NUMBER,
    "novikoff_bound_": NUMBER, "normalized_": FLAG, "log_integral_": NUMBER,
    # maps to features
    "features_": ANY, "waves_": (trigonometric.Waves,), "monomials_": (polynomial.Monomials,), "n_nodes_": WHOLE,
    "reach_": NUMBER, "frequencies_": ARRAY, "component_indices_": ARRAY, "cholesky_": ARRAY,
    "residual_trace_": NUMBER, "sketch_": (PolynomialCountSketch,), "indexHash_": ARRAY, "bitHash_": ARRAY,
    "_n_features_out": WHOLE, "_sklearn_output_config": (dict,),
}  # fmt: skip

MACHINE = ("kernel_", "support_", "support_vectors_", "intercept_", "_coef", "_X_fit", "_function", "dual_coef_")
RIDGE = ("kernel_", "X_fit_", "expansion_", "dual_coef_", "intercept_", "plan_", "_problem", "_penalty", "_kept",
         "_targets")  # fmt: skip
LOGISTIC = ("classes_", "kernel_", "X_fit_", "expansion_", "dual_coef_", "intercept_")
WINDOWS = ("kernel_", "X_fit_", "_windows")
NEAR = ("kernel_", "X_fit_", "n_samples_fit_", "_neighbors")

# The estimators, and what each needs to do what a fitted one does.
ESTIMATORS: dict[Any, tuple[str, ...]] = {
    models.SVC: ("classes_", *MACHINE),
    models.NuSVC: ("classes_", *MACHINE),
    models.SVR: MACHINE,
    models.NuSVR: MACHINE,
    models.OneClassSVM: ("offset_", *MACHINE),
    models.SVCCV: ("classes_", "kernel_", "cv_results_"),
    models.SVRCV: ("kernel_", "cv_results_"),
    models.KernelRidge: RIDGE,
    models.KernelRidgeCV: ("kernel_", "alpha_", "ridge_", "expansion_", "_targets", "_weights"),
    models.KernelRidgeClassifier: ("classes_", "kernel_", "regressor_", "expansion_"),
    models.KernelLogisticRegression: LOGISTIC,
    models.KernelLogisticRegressionCV: ("logistic_", *LOGISTIC),
    models.ImportVectorMachine: ("import_indices_", "import_vectors_", *LOGISTIC),
    models.KernelPerceptron: ("classes_", "kernel_", "expansion_", "_kept"),
    models.KernelNeighborsClassifier: ("classes_", "outputs_2d_", *NEAR),
    models.KernelNeighborsRegressor: NEAR,
    models.ParzenClassifier: ("classes_", "class_prior_", *WINDOWS),
    models.ParzenRegressor: WINDOWS,
    models.ParzenDensity: ("weights_", "log_integral_", "normalized_", *WINDOWS),
    models.KernelPCA: ("kernel_", "X_fit_", "eigenvalues_", "eigenvectors_", "expansion_"),
    PolynomialCountSketch: ("indexHash_", "bitHash_"),
}
MAPS: dict[Any, tuple[str, ...]] = {
    features.ExplicitMap: ("kernel_", "features_"),
    features.Fourier: ("waves_",),
    features.Nystroem: ("kernel_", "centers_", "cholesky_"),
    features.Polynomial: ("monomials_",),
    features.RandomFourier: ("kernel_", "frequencies_"),
    features.Sinc: ("waves_", "n_nodes_", "reach_"),
    features.TensorSketch: ("sketch_",),
    features.Trigonometric: ("waves_",),
}


def _within_memory(values: Values) -> Values:
    """A budget of the machine of the fit is not one of this machine."""
    return values | {"memory": min(int(values.get("memory", 2**62)), parse_memory(None))}


def _few_monomials(values: Values) -> Values:
    """Counting monomials of an absurd degree alone would take forever."""
    if not (0 <= values["degree"] <= 1000 and 0 <= values["n_inputs"] < 2**31):
        raise ModelFileError(f"it has monomials of degree {values['degree']} in {values['n_inputs']} inputs")
    return values


NODE: Kinds = (
    composition.Inputs, composition.Bias, composition.Chain, composition.Chosen, composition.Image, composition.Times,
    composition.SideBySide, composition.AllProducts, composition.UnitLength, composition.WithinReach,
    trigonometric.Waves, polynomial.Monomials, Vocabulary, Subtrees, Substructures,
)  # fmt: skip
BOTH = {"left": NODE, "right": NODE}
RECORDS: tuple[Entry, ...] = (
    Record(
        "Expansion", Expansion,
        {"kernel": (Kernel,), "centers": ANY, "coef": ARRAY, "intercept": NUMBERS,
         "explicit": (ExplicitFunction, NOTHING)},
    ),
    from_dataclass(Graph),
    from_dataclass(Plan, solver=TEXT, reason=TEXT, memory=NUMBER, flops=NUMBER, seconds=NUMBER),
    Record(
        "Problem", Problem,
        {"kernel": (Kernel,), "X": ANY, "y": ARRAY, "weights": (np.ndarray, NOTHING), "fit_intercept": FLAG,
         "memory": NUMBER},
        check=_within_memory,
    ),
    from_dataclass(ClusterPlan, solver=TEXT, reason=TEXT, memory=NUMBER, partitions=WHOLE, passes=WHOLE, moved=(dict,)),
    from_dataclass(DualityGap, absolute=NUMBER, relative=NUMBER),
    from_dataclass(Diagnosis),
    from_dataclass(Kept, outputs=WHOLE, coef=ARRAY, moment=ARRAY, entered=ARRAY, seen=WHOLE, log=(Mistakes,)),
    from_dataclass(ClassWindows, kernel=(Kernel,), members=ARRAY, priors=ARRAY),
    from_dataclass(DensityWindows, kernel=(Kernel,), weights=ARRAY, dim=(*WHOLE, NOTHING)),
    from_dataclass(MeanWindows, kernel=(Kernel,), weights=ARRAY, targets=ARRAY),
    from_dataclass(Neighbors, kernel=(Kernel,), values=ARRAY),
    from_dataclass(Mistakes, vector=ARRAY, label=ARRAY, wrong=ARRAY, step=ARRAY, time=ARRAY),
    Record("ExplicitFunction", ExplicitFunction, {"feature_map": tuple(MAPS), "w": ARRAY, "intercept": NUMBERS}),
    from_dataclass(theorem.Theorem, claim=TEXT, because=TEXT, parts=(tuple,)),
    from_dataclass(verdict.Proved, proof=(theorem.Theorem,), dim=(int, NOTHING)),
    from_dataclass(verdict.Refuted, coefficients=ARRAY, gram=ARRAY, value=NUMBER),
    from_dataclass(verdict.Unknown, tried=(tuple,), name=TEXT),
    # the nodes of explicit feature maps
    from_dataclass(composition.Inputs, width=WHOLE, owner=TEXT, allow_sparse=FLAG),
    from_dataclass(composition.Bias, value=NUMBER, width=WHOLE),
    from_dataclass(composition.Chain, first=NODE, second=NODE),
    from_dataclass(composition.Chosen, step=(data.Columns,)),
    from_dataclass(composition.Image, step=(mapping.Mapped,), width=WHOLE),
    from_dataclass(composition.Times, node=NODE, factor=NUMBER),
    from_dataclass(composition.SideBySide, **BOTH),
    from_dataclass(composition.AllProducts, **BOTH),
    from_dataclass(composition.UnitLength, node=NODE),
    from_dataclass(composition.WithinReach, waves=(trigonometric.Waves,)),
    from_dataclass(data.Columns, columns=(tuple,), owner=TEXT),
    from_dataclass(mapping.Mapped, owner=TEXT),
    from_dataclass(trigonometric.Waves, n_inputs=WHOLE, frequencies=ARRAY, labels=(list,)),
    Record(
        "Monomials", polynomial.Monomials, {"n_inputs": WHOLE, "degree": WHOLE, "offset": NUMBER}, check=_few_monomials
    ),
    Record("Vocabulary", Vocabulary, {"kernel": (Kernel,), "tokens": (dict,), "words": (list,)}, bare=True),
    Record("Subtrees", Subtrees, {"_kernel": (kernels.Subtree,), "_merger": (trees_forest.Merger,)}, bare=True),
    Record("Merger", trees_forest.Merger, {"labels": (dict,), "numbers": (dict,)}, bare=True),
    Record("Substructures", Substructures, {"_kernel": (Kernel,), "_graphs": (list,), "width": WHOLE}, bare=True),
    # scikit-learn's ways to split data, which may be parameters
    *(
        Record(cls.__name__, cls, dict.fromkeys(names, ANY))
        for cls, names in (
            (model_selection.KFold, ("n_splits", "shuffle", "random_state")),
            (model_selection.StratifiedKFold, ("n_splits", "shuffle", "random_state")),
            (model_selection.GroupKFold, ("n_splits", "shuffle", "random_state")),
            (model_selection.LeaveOneOut, ()),
            (model_selection.TimeSeriesSplit, ("n_splits", "max_train_size", "test_size", "gap")),
            (model_selection.ShuffleSplit, ("n_splits", "test_size", "train_size", "random_state")),
            (model_selection.StratifiedShuffleSplit, ("n_splits", "test_size", "train_size", "random_state")),
        )
    ),
)  # fmt: skip


@cache
def entries() -> tuple[Entry, ...]:
    """Return all types."""
    return (
        *(from_dataclass(kernel) for kernel in KERNELS),
        *(Fitted(cls.__name__, cls, FITTED, needed) for cls, needed in ESTIMATORS.items()),
        *(Fitted(f"features.{cls.__name__}", cls, FITTED, needed) for cls, needed in MAPS.items()),
        *RECORDS,
    )


@cache
def _by_name() -> dict[str, Entry]:
    return {entry.name: entry for entry in entries()}


@cache
def _by_type() -> dict[type, Entry]:
    return {entry.cls: entry for entry in entries()}


def _automatic() -> tuple[Entry, ...]:
    from ._registry_auto import ENTRIES

    return ENTRIES


def by_name(name: str) -> Entry | None:
    """Return the type that a file calls so, if there is one.

    Examples
    --------
    >>> by_name("Gaussian").cls
    <class 'mercer.kernels.radial.Gaussian'>
    >>> by_name("os.system") is None
    True
    """
    return _by_name().get(name) or next((entry for entry in _automatic() if entry.name == name), None)


def by_type(cls: type) -> Entry | None:
    """Return how objects of exactly this type are taken apart, if files may hold them."""
    if cls.__module__.startswith("mercer.auto"):
        return next((entry for entry in _automatic() if entry.cls is cls), None)
    return _by_type().get(cls)

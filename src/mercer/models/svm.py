"""Support vector classification."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Annotated, Any, Literal

import numpy as np

from mercer.arrays.budget import parse_memory
from mercer.arrays.tensors import host_array
from mercer.estimators.engine import in_the_kind_given
from mercer.estimators.kernels import KernelLike
from mercer.estimators.machines.argument import MachineArgument
from mercer.estimators.machines.base import check_positive_weights
from mercer.estimators.machines.classifier import SupportVectorClassifier
from mercer.estimators.machines.several import SeveralArgument
from mercer.features.params import SOMETIMES
from mercer.formula.data import Rows
from mercer.kernels import Kernel
from mercer.learning.several.mixture import KernelMixture
from mercer.losses import Hinge
from mercer.messages import warn_caller
from mercer.solvers.machines.left_out import leave_out_vectors
from mercer.solvers.machines.problems import MachineProblems, Priced, SharedMargin
from mercer.solvers.machines.span import estimate_left_out


class SVC(SupportVectorClassifier):
    """Support vector classification: the widest margin, with a price on points inside it.

    For two classes yᵢ = ±1, f and b minimise ½‖f‖² + Σᵢ Cᵢ max(0, 1 − yᵢ(f(xᵢ) + b)).  By the representer theorem
    f = Σᵢ βᵢ k(xᵢ, ·), and β maximises the dual Σ yᵢβᵢ − ½βᵀKβ with 0 ≤ yᵢβᵢ ≤ Cᵢ and Σβᵢ = 0.  More classes have one
    such machine for each pair, and votes.  For two classes this is ``KernelClassifier(loss="Hinge")`` with α = 1/(2C).
    Parameters, defaults and attributes are scikit-learn's where it has them.

    Parameters
    ----------
    C : float, default=1.0
        The price C > 0 of a unit of error; Cᵢ is C times the weights of the class and of the point.  C = 1/(2λm) gives
        the mean form (1/m)Σ max(0, …) + λ‖f‖², see ``scaling``.  Infinity asks for a hard margin.
    kernel : Kernel, str or callable, default="rbf"
        A mercer kernel; a name, "linear", "poly", "rbf", "sigmoid" or another of ``sklearn.metrics.pairwise``; a
        function of two collections that returns the matrix of their values, called once for all data; or
        "precomputed", and then X is that matrix.  A list of mercer kernels with ``weights``.
    degree : int, default=3
        Of the kernel "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        Of the kernels "rbf", "poly" and "sigmoid": "scale" is 1 / (d·Var(X)) and "auto" is 1/d for d features.
    coef0 : float, default=0.0
        Of the kernels "poly" and "sigmoid".
    shrinking : bool, default=True
        Whether coefficients that sit at a bound and would stay there wait until the others are optimal.
    probability : bool, default="deprecated"
        True is the same as ``calibration="sigmoid"``.  Deprecated, as in scikit-learn 1.9, with its warning.
    tol : float, default=1e-3
        The largest violation of the optimality conditions to stop at.
    cache_size : float, default=200
        Accepted without effect: ``memory`` is the budget for kernel values.
    class_weight : dict or "balanced", optional
        Factors of C for each class; "balanced" counts all classes as equally large.
    verbose : bool, default=False
        Whether to print a line about the solution.  Progress is told to ``sklearn.callback``.
    max_iter : int, default=-1
        Steps at most for each pair of classes; -1 for ten million, or a thousand for each point if that is more.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether values are those of classes or of pairs, if there are more than two classes.
    break_ties : bool, default=False
        Whether ``predict`` decides equal votes by the decision function.
    random_state : int, RandomState or None, default=None
        Of the folds that probabilities are fitted on, 0 if not given; nothing else is random.
    max_time : float, optional
        Seconds at most.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    assume_psd : bool, default=False
        Whether to use a mercer kernel or a matrix even if it is refuted, that is, not positive semi-definite.  The
        problem is then not convex: what is found is a local optimum, and the gap is no bound.
    device : str or torch.device, optional
        Where to compute, such as "cuda"; tensors are computed with where they are, and everything else on the host.
        All pairs of classes are solved at once there.  Sparse data, matrices and plain functions stay on the host.
    scaling : {"sum", "mean"}, default="sum"
        Whether errors are summed, as above, or averaged: "mean" has C/Σw in place of C, the weights wᵢ being those of
        points times those of their classes, so that C = 1/(2λ) minimises (1/Σw)Σ wᵢ max(0, …) + λ‖f‖².
    calibration : {"sigmoid", "isotonic"}, optional
        Whether and how to turn decision values into probabilities, by scikit-learn's names: on the values of points
        left out of the machines by five folds, a sigmoid (Platt) or a step function (which takes hundreds of points) is
        fitted to each pair of classes, and pairs are coupled as in LIBSVM.  That takes five more fits;
        :class:`~mercer.models.svm_cv.SVCCV` takes the values of its own folds.
    weights : {"simple", "easy", "average", "sum"} or array of shape (kernels,), optional
        How much of each of several kernels there is in k = Σ wₖkₖ/sₖ, sₖ the variance of its features over training
        points: the weights of sum 1 with the least objective (SimpleMKL), which leaves most kernels out; their shares
        of the margin between the classes (EasyMKL), which leaves none out; 1/m for m kernels; sₖ, which is the sum of
        kernels as they are; or given numbers.  See
        :class:`~mercer.models.learned.multiple_classifier.MultipleKernelClassifier` for more.

    Attributes
    ----------
    support_ : array of int, shape (vectors,)
        Positions of the support vectors, class by class.
    support_vectors_ : data
        The support vectors; empty if the kernel is precomputed.
    n_support_ : array of int, shape (classes,)
        How many there are of each class.
    dual_coef_ : array of shape (classes − 1, vectors)
        β.  A vector of class i has its coefficient against class j in row j, or j − 1 if j > i.
    intercept_ : array of shape (pairs,)
        b.
    coef_ : array of shape (pairs, d)
        The weights of the features, if the kernel is linear.
    classes_, class_weight_ : array of shape (classes,)
        The labels, and their factors of C.
    expansion_ : Expansion
        f + b for two classes; ``expansions_`` is a list of one for each pair otherwise.
    kernel_ : Kernel
        The kernel used.
    weights_ : array of shape (kernels,)
        The weights of several kernels, if there are several; ``print(model.mixture_)`` shows them with their kernels.
    weights_gap_ : float
        With "simple", how far the objective may be from its minimum over all weights, relative to it.
    alpha_ : array of shape (m,) or (m, pairs)
        The multipliers 0 ≤ αᵢ ≤ Cᵢ of all m training points, αᵢ = yᵢβᵢ; 0 for points that are not of a pair.
    margin_set_ : array of int, or a list of one for each of several pairs
        SV₁, the positions of the training points with 0 < αᵢ < Cᵢ: they lie exactly on the margin.
    coef_primal_ : array of shape (D,) or (D, pairs)
        w of f(x) = φ(x)ᵀw, if the kernel has finitely many features φ; ``kernel_.feature_map(d)`` is φ.
    objective_ : Objective
        What was minimised, of all pairs together: ``loss`` is Σ Cᵢ max(0, …), ``penalty`` is ½‖f‖².
    duality_gap_ : DualityGap
        ``absolute`` and ``relative``: how far the objective may be from its minimum, which lies between the values
        ``dual`` and ``primal``.  Of several pairs it is that of the pair with the largest relative gap.
    violation_, converged_, fit_status_
        The largest violation of the optimality conditions, whether it is at most ``tol``, and 0 if so and 1 otherwise.
    n_iter_ : array of int, shape (pairs,)
        Steps, each of which moves two coefficients.
    plan_ : Plan
        What ran and why.
    probA_, probB_ : arrays of shape (pairs,)
        With ``probability=True``, A and B of P(first class of a pair) = 1/(1 + exp(A·v + B)), v its value; deprecated.
    shape_fit_, n_features_in_, feature_names_in_
        The shape of the training data, and number and names of its columns.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.models.svm import SVC
    >>> X = np.array([[-2, -1], [-1, -1], [-1, -2], [1, 1], [1, 2], [2, 1]])
    >>> model = SVC(kernel="linear").fit(X, ["left"] * 3 + ["right"] * 3)
    >>> model.dual_coef_, model.support_, model.coef_
    (array([[-0.25,  0.25]]), array([1, 3], dtype=int32), array([[0.5, 0.5]]))
    >>> model.predict([[-0.8, -1.0]]), model.duality_gap_.relative <= model.tol
    (array(['left'], dtype='<U5'), True)

    Which of two columns tells the classes apart:

    >>> from mercer.kernels import Gaussian
    >>> model = SVC(kernel=[Gaussian().on([0]), Gaussian().on([1])], weights="simple")
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model.fit(X, np.abs(X[:, 1]) < 0.7).weights_.round(1)
    array([0., 1.])
    """

    mixture_: Annotated[KernelMixture, SOMETIMES]
    weights_gap_: Annotated[float, SOMETIMES]
    _loo: Annotated[np.ndarray, SOMETIMES]  # of all pairs

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: KernelLike = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        max_time: float | None = None,
        memory: float | str | None = None,
        assume_psd: bool = False,
        device: Any = None,
        scaling: Literal["sum", "mean"] = "sum",
        weights: Any = None,
        calibration: Literal["sigmoid", "isotonic"] | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.max_time = max_time
        self.memory = memory
        self.assume_psd = assume_psd
        self.device = device
        self.scaling = scaling
        self.weights = weights
        self.calibration = calibration

    def _problems(self, y: Any, weights: np.ndarray) -> MachineProblems:
        problems = self._pair_problems(Priced(Hinge(), float(self.C)), y, weights)
        return problems.average() if self.scaling == "mean" else problems

    @in_the_kind_given
    def leave_one_out(self, method: Literal["refit", "span"] = "refit") -> np.ndarray:
        """Return the decision values of each training point by the machine without it.

        Exactly, to the tolerance of the machines: a point with coefficient 0 changes nothing, and machines without a
        support vector are solved from where that of all points ended, one for each vector.  The kernel and the prices
        Cᵢ stay those of the fit, also where ``gamma``, ``class_weight="balanced"`` or ``scaling="mean"`` took them from
        all points.  Computed when first asked for.  Points of weight 0 were left out anyway.

        Or by an estimate, without refits: f(xᵢ) + b − βᵢSᵢ², where Sᵢ² is the squared distance of φ(xᵢ) from the affine
        span of the other margin vectors, 1/(K̃⁻¹)ᵢᵢ for one of them, with their matrix K̃ bordered by ones (Vapnik and
        Chapelle).  It is exact where leaving out a point moves no other onto the margin, off it, or across.

        Parameters
        ----------
        method : {"refit", "span"}, default="refit"
            Exactly, or by the span estimate.  Pairs of classes with fewer than two margin vectors, or whose matrix is
            not positive definite, are refitted in any case.

        Returns
        -------
        array of shape (n,), (n, classes) or (n, pairs), as of :meth:`decision_function`
            The only point of a class gets the value ±1 of the other class of a pair.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.models.svm import SVC
        >>> X = np.array([[-2.0], [-1.0], [1.0], [3.0]])
        >>> SVC(kernel="linear", C=10.0).fit(X, [0, 0, 1, 1]).leave_one_out().round(2)
        array([-2.  , -0.33,  0.  ,  3.  ])

        The estimate does not know that the outer points become support vectors without the inner ones:

        >>> SVC(kernel="linear", C=10.0).fit(X, [0, 0, 1, 1]).leave_one_out("span").round(2)
        array([-2.,  1., -1.,  3.])
        """
        if method not in ("refit", "span"):
            raise ValueError(f"{type(self).__name__}.leave_one_out: method must be 'refit' or 'span', got {method!r}")
        if method == "span":
            return self._show_decisions(self._leave_one_out(span=True))
        if "_loo" not in vars(self):
            self._loo = self._leave_one_out()
        return self._show_decisions(self._loo)

    def _leave_one_out(self, stop: Callable[[], bool] | None = None, *, span: bool = False) -> np.ndarray:
        """Return the values of all pairs, shape (n, pairs); ``stop`` is asked between refits, ``span`` estimates."""
        examples = self._find_examples("leave_one_out")
        beta, values = self._spread("leave_one_out"), np.array(self._values(examples.X))
        weights = check_positive_weights(self, examples.weights, len(examples.y))
        problems = self._problems(examples.y, weights)
        argument, kernel, points = self._kernel_argument, self.kernel_, examples.X
        if argument.is_function:
            kernel = argument.train(points, problems.kept)
        if argument.is_function or argument.is_matrix:
            points = argument.points(points)
        problems, solver = problems.soften(kernel, points), self._solver(self.memory)
        for column, part in enumerate(problems.parts()):
            own = beta[part[0], column]
            vectors, found = part[0][own != 0], None
            if span:
                memory = parse_memory(self.memory)
                found = estimate_left_out(kernel, host_array(points), part, own, values[vectors, column], memory)
            if found is None:
                found = leave_out_vectors(solver, kernel, host_array(points), part, own, stop)
            values[vectors, column] = found
        return values

    @property
    @in_the_kind_given
    def weights_(self) -> np.ndarray:
        """The weights of several kernels, of shape (kernels,)."""
        if "mixture_" not in vars(self):
            raise AttributeError(f"this {type(self).__name__} has no weights_: it is not fitted with several kernels")
        return self.mixture_.weights

    def _find_kernel(self, argument: MachineArgument, X: Rows, problems: MachineProblems) -> Kernel:
        for name in ("mixture_", "weights_gap_"):
            self.__dict__.pop(name, None)
        if not isinstance(argument, SeveralArgument):
            if self.weights is not None:
                raise ValueError(
                    f"{type(self).__name__}: weights={self.weights!r} are those of several kernels, but kernel is "
                    f"{self.kernel!r}; give a list such as kernel=[Gaussian(), Linear()], or leave weights out"
                )
            return super()._find_kernel(argument, X, problems)
        found = argument.weigh(X, problems, 0 if self.random_state is None else self.random_state)
        self.mixture_ = found.mixture
        if found.gap is not None:
            self.weights_gap_ = found.gap
        return argument.find_kernel()

    @property
    def _kernel_argument(self) -> MachineArgument:
        several = isinstance(self.kernel, list | tuple)
        return SeveralArgument(self, self.kernel) if several else super()._kernel_argument

    def _fit_cluster(self, cluster: Any, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        from mercer.distributed.svm import fit_svm

        self._keep(*fit_svm(self, cluster, X, y, sample_weight, features_of="labels"))


class NuSVC(SupportVectorClassifier):
    """Support vector classification with a bound ν on the share of errors instead of a price.

    β minimises ½βᵀKβ with 0 ≤ yᵢβᵢ ≤ wᵢ and Σβ = ±½νΣw over each class; at most a share ν of all weight is inside the
    margin, and at least that share is on support vectors.  The margin ρ is found, and f, b and the coefficients are
    divided by it, so that they solve :class:`SVC` with C = 1/ρ.

    Parameters
    ----------
    nu : float, default=0.5
        ν, above 0 and at most 2·min(w₊, w₋)/(w₊ + w₋) for classes of weights w₊ and w₋, of each pair.
    kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size
        As for :class:`SVC`.
    class_weight : dict or "balanced", optional
        Without effect, as in scikit-learn: give ``sample_weight`` instead.
    verbose, max_iter, decision_function_shape, break_ties, random_state, max_time, memory, assume_psd, device
        As for :class:`SVC`.
    calibration : {"sigmoid", "isotonic"}, optional
        As for :class:`SVC`.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, classes_, class_weight_
        As for :class:`SVC`.
    expansion_, expansions_, kernel_, plan_, coef_primal_, shape_fit_, n_features_in_, feature_names_in_
        As for :class:`SVC`.
    alpha_, margin_set_
        As for :class:`SVC`, with Cᵢ = wᵢ/ρ.
    objective_ : Objective
        Of the problem before it is divided by the margin: ``loss`` is Σ wᵢ max(0, ρ − yᵢg(xᵢ)) − νρΣw and ``penalty``
        is ½‖g‖², with g = ρ(f + b).
    probA_, probB_
        As for :class:`SVC`.
    duality_gap_, violation_, converged_, fit_status_, n_iter_
        As for :class:`SVC`, of the problem before it is divided by the margin.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.models.svm import NuSVC
    >>> X = np.array([[-1, -1], [-2, -1], [1, 1], [2, 1]])
    >>> model = NuSVC(kernel="linear", nu=0.5).fit(X, [1, 1, 2, 2])
    >>> model.predict([[-0.8, -1]])
    array([1])
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: KernelLike = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        max_time: float | None = None,
        memory: float | str | None = None,
        assume_psd: bool = False,
        device: Any = None,
        calibration: Literal["sigmoid", "isotonic"] | None = None,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.max_time = max_time
        self.memory = memory
        self.assume_psd = assume_psd
        self.device = device
        self.calibration = calibration

    def _problems(self, y: Any, weights: np.ndarray) -> MachineProblems:
        if self.class_weight is not None:
            warn_caller(
                f"{type(self).__name__}: class_weight has no effect on the ν machine, as in scikit-learn; give weights "
                "as sample_weight to fit instead",
                UserWarning,
            )
        more = ", and for a class without points the specified nu is infeasible"
        return self._pair_problems(SharedMargin(self.nu, type(self).__name__), y, weights, more)

    def _make_judge(self, codes: np.ndarray, weights: np.ndarray | None) -> NuSVC:
        """Return the machine with a ν that some of the points allow, a little less than that of all."""
        masses = np.bincount(codes, weights)
        masses = masses[masses > 0]
        largest = min(2 * min(a, b) / (a + b) for a, b in combinations(masses.tolist(), 2))
        judge: NuSVC = super()._make_judge(codes, weights)
        return judge.set_params(nu=min(self.nu, (1 - 1e-12) * largest))

    def _fit_cluster(self, cluster: Any, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        from mercer.distributed.svm import fit_svm

        self._keep(*fit_svm(self, cluster, X, y, sample_weight))

"""Classification with a weighted sum of several kernels, whose weights are learned."""

from __future__ import annotations

import numbers
from typing import Annotated, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from mercer.arrays.shapes import Inside
from mercer.estimators.classifier import Classes, Labelled, check_labelled, choose_classes
from mercer.estimators.engine import in_the_kind_given, where_the_data_lives
from mercer.estimators.intervals.rows import TrainingRows
from mercer.estimators.machines.base import check_options
from mercer.estimators.progress import fit_task, reporter, with_callbacks
from mercer.estimators.sets.classifier import SetClassifier
from mercer.estimators.transaction import all_or_nothing
from mercer.expansion import Expansion
from mercer.features.params import SOMETIMES, KernelParams
from mercer.formula.data import Rows
from mercer.kernels import Gaussian, Kernel
from mercer.learning.class_penalty import make_grid, make_targets
from mercer.learning.several.machines import METHODS, WeightRule, count_points, sample_classes
from mercer.learning.several.mixture import KernelMixture, stack_kernels
from mercer.learning.several.weights import OnStep, learn_weights
from mercer.solvers.base import Problem

from ..ridge_classifier import KernelRidgeClassifier
from ..svm import SVC
from .kernel_list import KernelList, TableKernels, kernel_list

SERIAL = 500  # points up to which one thread is enough


class MultipleKernelClassifier(SetClassifier, KernelParams, CallbackSupportMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier with the kernel k = Σ wₖkₖ/sₖ of several, whose weights w ≥ 0 are learned.

    Kernels may look at different columns, of numbers, texts, graphs or anything that there is a kernel for.  Each is
    divided by the variance sₖ of its features over training points, so that weights compare, and a kernel multiplied by
    any number is the same.  One set of weights serves all classes.  What the weights are learned by says which
    classifier is fitted with them:

    - "loo": the exact leave-one-out error of least squares on labels of ±1, by its gradient, and then
      :class:`~mercer.models.ridge_classifier.KernelRidgeClassifier`.  Kernels that do not help have weight 0.
    - "easy": shares of the margin between each class and all others (EasyMKL), and then
      :class:`~mercer.models.svm.SVC`.  It takes hardly longer than the kernel matrices, and leaves no kernel out.
    - "simple": the least objective of that SVC itself (SimpleMKL), with most weights 0, or few with ``norm`` above 1.
    - "average", "sum": weights of 1/m, or the sum of kernels as they are, without scales, and then
      KernelRidgeClassifier, to compare with.

    Parameters
    ----------
    kernels : sequence of m Kernels, names or functions, optional
        The kernels; Gaussians of four widths if not given.
    method : {"loo", "easy", "simple", "average", "sum"}, default="loo"
        What weights are learned by.
    alpha : float or "loo", default="loo"
        The penalty of KernelRidgeClassifier.
    C : float, default=1.0
        The price of an error for SVC.
    lam : float, default=0.1
        λ of "easy", from 0, where the points closest to other classes count alone, to 1, where all points count alike.
    norm : float, default=1.0
        p ≥ 1 of "simple", whose weights have Σwᵖ = 1: 1 for few of them, 2 for all.
    class_weight : dict or "balanced", optional
        Weights of the classes, or as if all classes had equally many points.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    random_state : int, RandomState or None, default=None
        Chooses the points that weights are learned from, where there are more than 2,000.
    device : str or torch.device, optional
        Where to compute, such as "cuda"; tensors are computed with where they are, and everything else on the host.

    Attributes
    ----------
    weights_ : array of shape (m,)
        w, of sum 1 unless ``method`` is "sum" or ``norm`` is above 1.  All 0 if "loo" finds that no kernel is better
        than a constant.
    mixture_ : KernelMixture
        Kernels, scales and weights; ``print(model.mixture_)`` shows them.
    kernel_ : Kernel
        k, a kernel like any other, without those of weight 0.
    classifier_ : KernelRidgeClassifier or SVC
        The classifier with this kernel, fitted to all points.
    classes_ : array of shape (classes,)
        The labels.
    weights_gap_ : float
        For "simple": how far the objective may be from its minimum over all weights, relative to it.
    expansion_, expansions_
        The functions of the classifier, as there.
    n_features_in_, feature_names_in_
        Number and names of columns, if there are any.

    Notes
    -----
    Weights are learned from at most 2,000 points, as many of each class as among all, but ten at least if there are.
    Another classifier takes the kernel as it is: ``KernelLogisticRegression(kernel=model.kernel_)`` for probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian, Spectrum
    >>> from mercer.models.learned.multiple_classifier import MultipleKernelClassifier
    >>> rng = np.random.default_rng(0)
    >>> words = ["".join(rng.choice(list("ACGT"), size=20)) for _ in range(100)]
    >>> noise = rng.normal(size=100)
    >>> y = [word.count("A") > 5 for word in words]
    >>> kernels = [Spectrum(2).on(0), Gaussian().on([1])]
    >>> model = MultipleKernelClassifier(kernels).fit(list(zip(words, noise)), y)
    >>> print(model.mixture_)
     100.0%  Spectrum(length=2, shortest=None).on(0)
       0.0%  Gaussian(length_scale=1.0).on([1])
    >>> model.classifier_.loo_accuracy_ > 0.8
    True
    """

    classes_: Classes
    mixture_: KernelMixture
    kernel_: Kernel
    classifier_: Annotated[KernelRidgeClassifier | SVC, Inside(c="c")]
    weights_gap_: Annotated[float, SOMETIMES]
    _examples: Annotated[TrainingRows, SOMETIMES]

    def __init__(
        self,
        kernels: Any = None,
        *,
        method: Literal["loo", "easy", "simple", "average", "sum"] = "loo",
        alpha: Any = "loo",
        C: float = 1.0,
        lam: Any = 0.1,
        norm: Any = 1.0,
        class_weight: Any = None,
        memory: float | str | None = None,
        random_state: Any = None,
        device: Any = None,
    ) -> None:
        self.kernels = kernels
        self.method = method
        self.alpha = alpha
        self.C = C
        self.lam = lam
        self.norm = norm
        self.class_weight = class_weight
        self.memory = memory
        self.random_state = random_state
        self.device = device

    @with_callbacks
    @where_the_data_lives
    def fit(self, X: Rows, y: Any, sample_weight: Any = None) -> Self:
        """Learn the weights, and fit the classifier; a fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : collection of n objects
            The training points.
        y : array of shape (n,)
            Their labels, numbers or texts, of at least two classes.
        sample_weight : float or array of shape (n,), optional
            Weights that are not negative.
        """
        with fit_task(self, X, y) as context, all_or_nothing(self):
            self._fit(X, y, sample_weight, reporter(self, context))
        return self

    @where_the_data_lives
    def decision_function(self, X: Rows) -> np.ndarray:
        """Return the value for the second of two classes, or one for each of more, as the classifier does.

        Parameters
        ----------
        X : collection of m objects
            The points.

        Returns
        -------
        array of shape (m,) or (m, classes)
        """
        check_is_fitted(self)
        return self.classifier_.decision_function(self._kernel_argument().new_points(X))

    @where_the_data_lives
    def predict(self, X: Rows) -> np.ndarray:
        """Return the class of largest value for all points, the first of equals.

        Parameters
        ----------
        X : collection of m objects
            The points.

        Returns
        -------
        array of shape (m,)
        """
        check_is_fitted(self)
        return np.asarray(self.classes_[choose_classes(self.decision_function(X))])

    @property
    @in_the_kind_given
    def weights_(self) -> np.ndarray:
        """The weights of the kernels, of shape (m,)."""
        check_is_fitted(self)
        return self.mixture_.weights

    @property
    def expansion_(self) -> Expansion:
        """The function of the classifier."""
        check_is_fitted(self)
        return self.classifier_.expansion_

    @property
    def expansions_(self) -> list[Expansion]:
        """The functions of the classifier, one for each class, or for each pair of them."""
        check_is_fitted(self)
        return self.classifier_.expansions_

    # -- the steps of a fit -----------------------------------------------------------------------------------------

    def _fit(self, X: Rows, y: Any, sample_weight: Any, on_step: OnStep) -> None:
        self._check_options()
        argument = self._kernel_argument()
        data = check_labelled(self, argument, X, y, sample_weight)
        labels, weights = data.classes[data.codes], None if (data.weights == 1.0).all() else data.weights
        self.__dict__.pop("weights_gap_", None)
        kernels = argument.resolve_each(data.points)
        # Threads that wait for each other cost more than they gain on small matrices, above all on a busy machine.
        with threadpool_limits(1 if len(labels) <= SERIAL else None, user_api="blas"):
            if self.method in ("easy", "simple"):
                classifier: KernelRidgeClassifier | SVC = self._fit_machine(kernels, data.points, labels, weights)
            else:
                self.mixture_ = self._weigh(kernels, data, on_step)
                classifier = self._make_classifier(self.mixture_).fit(data.points, labels, weights)
        self.classifier_, self.kernel_, self.classes_ = classifier, classifier.kernel_, data.classes
        self._remember(data.X, y, sample_weight)

    def _check_options(self) -> None:
        name, methods = type(self).__name__, ("loo", *METHODS)
        if self.method not in methods:
            raise ValueError(f"{name}: method must be one of {', '.join(map(repr, methods))}; got {self.method!r}")
        if not isinstance(self.lam, numbers.Real) or not 0 <= float(self.lam) <= 1:
            raise ValueError(f"{name}: lam must be a number from 0 to 1, got {self.lam!r}")
        if not isinstance(self.norm, numbers.Real) or not float(self.norm) >= 1:
            raise ValueError(f"{name}: norm must be a number of at least 1, or infinity; got {self.norm!r}")
        check_options(self)

    def _fit_machine(self, kernels: list[Kernel], X: Rows, y: Any, weights: np.ndarray | None) -> SVC:
        """Return the machine that was fitted together with the weights; kernels were checked one by one."""
        rule = WeightRule(self.method, float(self.lam), float(self.norm))
        machine = SVC(
            C=self.C, kernel=kernels, weights=rule, memory=self.memory, random_state=self.random_state,
            assume_psd=True, device=self.device,
        )  # fmt: skip
        machine.fit(X, y, weights)
        self.mixture_ = machine.mixture_
        if self.method == "simple":
            self.weights_gap_ = machine.weights_gap_
        machine.kernel, machine.weights = machine.kernel_, None  # the same, with nothing left to learn
        return machine

    def _weigh(self, kernels: list[Kernel], data: Labelled, on_step: OnStep) -> KernelMixture:
        """Return the kernels with weights by leave-one-out or without learning."""
        place, rng = self._kernel_argument().place(data.points), check_random_state(self.random_state)
        data = data.part(sample_classes(data.codes, count_points(len(kernels), place), rng))
        weights = None if (data.weights == 1.0).all() else data.weights
        if self.method != "loo":
            mixture = stack_kernels(kernels, data.points, weights=weights, place=place).mixture
            return mixture if self.method == "average" else mixture.weighted(mixture.scales)
        targets = make_targets(data.codes, len(data.classes)).reshape(len(data.codes), -1)
        problem = Problem(Gaussian(), data.points, targets, weights, True, place.memory, place.device)
        return learn_weights(problem, kernels, rng=rng, on_step=on_step)[0]

    def _make_classifier(self, mixture: KernelMixture) -> KernelRidgeClassifier:
        """Return the classifier to fit with the kernel that was found."""
        # In units of the variance of all features, Σw: a constant that is added to a kernel changes no model.
        return KernelRidgeClassifier(
            self.alpha, alphas=make_grid(float(mixture.weights.sum())), kernel=mixture.kernel(), memory=self.memory,
            random_state=self.random_state, assume_psd=True, device=self.device,
        )  # fmt: skip

    def _kernel_argument(self) -> KernelList | TableKernels:
        return kernel_list(self)

    def __sklearn_tags__(self) -> Tags:
        return self._kernel_argument().describe(super().__sklearn_tags__())

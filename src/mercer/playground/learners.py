"""Who learns: the models of the playground, their settings, and how each is built and written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from mercer.kernels import Kernel
from mercer.models import (
    SVC,
    SVR,
    ImportVectorMachine,
    KernelClassifier,
    KernelLogisticRegression,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelPCA,
    KernelPerceptron,
    KernelRegressor,
    KernelRidge,
    KernelRidgeClassifier,
    ParzenClassifier,
    ParzenRegressor,
)

from .limits import MOST_POINTS, PlayError, round_number

Task = Literal["regression", "classification"]
Value = float | str
TASKS: tuple[Task, ...] = ("regression", "classification")
EPOCHS = 10  # passes over the points that a perceptron can be followed through
SEED = 0  # of the order in which it sees them
COMPONENTS = 6  # of principal component analysis
REGRESSION_LOSSES = (
    "Squared", "Absolute", "Huber(0.3)", "LogCosh", "EpsilonInsensitive(0.1)", "SquaredEpsilonInsensitive(0.1)",
    "Quantile(0.9)", "Quantile(0.1)", "Expectile(0.9)",
)  # fmt: skip
CLASSIFICATION_LOSSES = ("Hinge", "SquaredHinge", "Logistic", "Exponential", "Softmax")


@dataclass(frozen=True)
class Setting:
    """A number or a choice that a learner is set by.

    Parameters
    ----------
    name : str
        Its key.
    title : str
        What people read.
    low, high : float
        The range.
    default : float or str
        The value if nobody chose one.
    log : bool, default=False
        Whether it is felt by its order of magnitude.
    whole : bool, default=False
        Whether it is a whole number.
    choices : tuple of str, default=()
        The texts to choose from, of a setting that is no number.
    tasks : tuple, default=both
        The tasks it has a meaning for.
    per_point : int, default=0
        How many times the number of points is the largest value; ``high`` is if 0.
    parameter : str, optional
        The parameter of the model, if it has the value of the setting.
    """

    name: str
    title: str
    low: float
    high: float
    default: Value
    log: bool = False
    whole: bool = False
    choices: tuple[str, ...] = ()
    tasks: tuple[Task, ...] = TASKS
    per_point: int = 0
    parameter: str | None = None

    def top(self, n: int) -> float:
        """Return the largest value for n points."""
        return float(max(self.low, min(self.high, self.per_point * n))) if self.per_point else self.high

    def check(self, value: object) -> Value:
        """Return a value as it is kept, or raise a PlayError."""
        if self.choices:
            if isinstance(value, str) and value in self.choices:
                return value
            raise PlayError(f"{self.title} is one of {', '.join(self.choices)}; got {str(value)[:60]!r}. Choose one.")
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else float("nan")
        if not self.low <= number <= self.high:
            raise PlayError(
                f"{self.title} lies between {self.low:g} and {self.high:g}; got {str(value)[:60]}. Choose one inside."
            )
        return float(round(number)) if self.whole else number


@dataclass(frozen=True)
class Learner:
    """A model of the playground.

    Parameters
    ----------
    key, title : str
        Its name in a state and for people.
    models : mapping from tasks to classes
        The estimators.
    settings : tuple of Setting
        All settings; :meth:`list_settings` has those of a task.
    penalty : str, optional
        The setting that a leave-one-out curve runs over.
    fixed : mapping from tasks to parameters, optional
        Parameters that are always given.
    """

    key: str
    title: str
    models: Mapping[Task, type[Any]]
    settings: tuple[Setting, ...]
    penalty: str | None = None
    fixed: Mapping[Task, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks it can do."""
        return tuple(task for task in TASKS if task in self.models)

    def list_settings(self, task: Task) -> tuple[Setting, ...]:
        """Return the settings that mean something for a task.

        Examples
        --------
        >>> from mercer.playground.learners import LEARNERS
        >>> [setting.name for setting in LEARNERS["svm"].list_settings("classification")]
        ['C']
        """
        return tuple(setting for setting in self.settings if task in setting.tasks)

    def check_settings(self, task: Task, given: Mapping[str, Any]) -> dict[str, Value]:
        """Return settings by name, each checked, or raise a PlayError."""
        known = {setting.name: setting for setting in self.list_settings(task)}
        for name in given:
            if name not in known:
                raise PlayError(
                    f"{self.title} has no setting {str(name)[:60]!r} here; it has {', '.join(known) or 'none'}."
                )
        return {name: known[name].check(value) for name, value in given.items()}

    def read_settings(self, task: Task, given: Mapping[str, Any], n: int) -> dict[str, Value]:
        """Return the value of every setting for n points: what was given, within what so many points allow."""
        found: dict[str, Value] = {}
        for setting in self.list_settings(task):
            value = setting.check(given.get(setting.name, setting.default))
            found[setting.name] = value if isinstance(value, str) else min(value, setting.top(n))
        return found

    def list_arguments(self, task: Task, values: Mapping[str, Value]) -> dict[str, Any]:
        """Return the parameters of the model but for its kernel, from the values of all settings."""
        found: dict[str, Any] = {}
        for setting in self.list_settings(task):
            if setting.parameter is not None:
                value = values[setting.name]
                whole = setting.whole and not isinstance(value, str)
                found[setting.parameter] = int(value) if whole else value if isinstance(value, str) else float(value)
        return found | dict(self.fixed.get(task, {}))

    def build(self, task: Task, kernel: Kernel, values: Mapping[str, Value]) -> Any:
        """Return the model, not yet fitted."""
        return self.models[task](kernel=kernel, **self.list_arguments(task, values))

    def fit(self, model: Any, x: np.ndarray, y: np.ndarray, values: Mapping[str, Value]) -> Any:
        """Return the model, fitted to points."""
        if "steps" not in values:
            return model.fit(x, y)
        order = order_steps(len(y), int(values["steps"]))
        return model.partial_fit(x[order], y[order], classes=np.unique(y))

    def write_fit(self, values: Mapping[str, Value]) -> list[str]:
        """Return the lines that fit ``model`` to ``x`` and ``y``, and print what came of it."""
        if self.key == "pca":
            return ["model.fit(x)", "print(model.eigenvalues_)"]
        score = "print(model.score(x, y))"
        if "steps" not in values:
            return ["model.fit(x, y)", score]
        return [
            f"rng = np.random.default_rng({SEED})",
            f"order = np.concatenate([rng.permutation(len(y)) for _ in range({EPOCHS})])",
            f"order = order[:{int(values['steps'])}]  # the points in the order in which it sees them",
            "model.partial_fit(x[order], y[order], classes=np.unique(y))",
            score,
        ]

    def source(self, task: Task, kernel_text: str, values: Mapping[str, Value]) -> tuple[str, str]:
        """Return the line that imports the model and the expression that builds it.

        Examples
        --------
        >>> from mercer.playground.learners import LEARNERS
        >>> LEARNERS["svm"].source("classification", "kernel", {"C": 10.0})
        ('from mercer import SVC', 'SVC(C=10.0, kernel=kernel)')
        """
        name = self.models[task].__name__
        arguments = [f"{key}={_write(value)}" for key, value in self.list_arguments(task, values).items()]
        own = [part for part in arguments if part.partition("=")[0] not in self.fixed.get(task, {})]
        rest = [part for part in arguments if part not in own]
        return f"from mercer import {name}", f"{name}({', '.join([*own, f'kernel={kernel_text}', *rest])})"


def _write(value: object) -> str:
    if isinstance(value, str):
        return f'"{value}"'  # one of the choices
    return repr(round_number(value)) if isinstance(value, float) else repr(value)


def _penalty(name: str, title: str, low: float, high: float, default: float) -> Setting:
    return Setting(name, title, low, high, default, log=True, parameter=name)


RIDGE = Learner(
    "ridge", "Kernel ridge", {"regression": KernelRidge, "classification": KernelRidgeClassifier},
    (
        _penalty("alpha", "penalty α", 1e-8, 1e4, 0.1),
        Setting("band", "band", 0, 0, "intervals", choices=("intervals", "posterior", "none"), tasks=("regression",)),
    ), "alpha", {"regression": {"fit_intercept": True}},
)  # fmt: skip
SVM = Learner(
    "svm", "Support vector machine", {"regression": SVR, "classification": SVC},
    (
        _penalty("C", "price C", 1e-3, 1e4, 10.0),
        Setting("epsilon", "tube ε", 0.0, 100.0, 0.1, tasks=("regression",), parameter="epsilon"),
    ), "C",
)  # fmt: skip

LOGISTIC = Learner(
    "logistic", "Logistic regression", {"classification": KernelLogisticRegression},
    (_penalty("alpha", "penalty α", 1e-6, 1e4, 0.1),), "alpha",
)  # fmt: skip
IMPORT_VECTORS = Learner(
    "import_vectors", "Import vectors", {"classification": ImportVectorMachine},
    (_penalty("alpha", "penalty α", 1e-6, 1e4, 0.1),),
)  # fmt: skip
PERCEPTRON = Learner(
    "perceptron", "Perceptron", {"classification": KernelPerceptron},
    (
        Setting("steps", "points seen", 1, EPOCHS * MOST_POINTS, 100.0, whole=True, per_point=EPOCHS),
        Setting("kind", "function", 0, 0, "plain", choices=("plain", "averaged"), parameter="kind"),
    ),
)  # fmt: skip
NEIGHBOURS = Learner(
    "neighbours", "Nearest neighbours",
    {"regression": KernelNeighborsRegressor, "classification": KernelNeighborsClassifier},
    (
        Setting(
            "n_neighbors", "neighbours", 1, MOST_POINTS, 5.0, whole=True, per_point=1, parameter="n_neighbors"
        ),
    ), "n_neighbors",
)  # fmt: skip
PARZEN = Learner(
    "parzen", "Parzen windows", {"regression": ParzenRegressor, "classification": ParzenClassifier}, ()
)  # fmt: skip
PCA = Learner(
    "pca", "Principal components", {"regression": KernelPCA, "classification": KernelPCA},
    (Setting("component", "component", 1, COMPONENTS, 1.0, whole=True, per_point=1, parameter="n_components"),),
)  # fmt: skip
ANY_LOSS = Learner(
    "any_loss", "Any loss", {"regression": KernelRegressor, "classification": KernelClassifier},
    (
        Setting(
            "loss", "loss", 0, 0, "Huber(0.3)", choices=REGRESSION_LOSSES, tasks=("regression",), parameter="loss"
        ),
        Setting(
            "loss", "loss", 0, 0, "SquaredHinge", choices=CLASSIFICATION_LOSSES, tasks=("classification",),
            parameter="loss",
        ),
        _penalty("alpha", "penalty α", 1e-4, 1e4, 0.1),
    ), "alpha",
)  # fmt: skip

LEARNERS: dict[str, Learner] = {
    learner.key: learner
    for learner in (RIDGE, SVM, LOGISTIC, IMPORT_VECTORS, PERCEPTRON, NEIGHBOURS, PARZEN, PCA, ANY_LOSS)
}


def order_steps(n: int, steps: int) -> np.ndarray:
    """Return the points that a perceptron sees one after the other: all of them in each pass, in an order of its own.

    The first steps are the same however many there are, so that a perceptron can be followed.

    Examples
    --------
    >>> from mercer.playground.learners import order_steps
    >>> sorted(order_steps(4, 4).tolist()), bool((order_steps(4, 9)[:4] == order_steps(4, 4)).all())
    ([0, 1, 2, 3], True)
    """
    rng = np.random.default_rng(SEED)
    return np.concatenate([rng.permutation(n) for _ in range(EPOCHS)])[:steps]


def find_learner(key: object) -> Learner:
    """Return a learner by its key, or raise a PlayError.

    Examples
    --------
    >>> from mercer.playground.learners import find_learner
    >>> find_learner("svm").title
    'Support vector machine'
    """
    if isinstance(key, str) and key in LEARNERS:
        return LEARNERS[key]
    raise PlayError(f"there is no learner {str(key)[:60]!r}; there are {', '.join(LEARNERS)}. Choose one of them.")

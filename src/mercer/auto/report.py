"""What an automatic fit found out, as plain data: for printing, for pages and for files."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from .figures import Calibration, Dependence, Distribution
from .judging.calibration import measure_calibration

Kind = Literal["numeric", "categorical", "text", "ignored"]
Task = Literal["regression", "classification"]
LOWER_IS_BETTER = ("RMSE", "MAE", "log-loss", "Brier score")
ENOUGH = 20  # rows held out that may show a difference between models


@dataclass(frozen=True)
class Column:
    """A column of the table, and what was done with it.

    Parameters
    ----------
    name : str
        Its name, or its position.
    kind : {"numeric", "categorical", "text", "ignored"}
        What it was taken for.
    treatment : str
        What was done, in a phrase for people.
    missing : int
        Rows without a value.
    distinct : int
        Different values.
    stray : tuple of (row, text)
        The first cells that are neither a value of that kind nor a usual mark of a missing one; they count as missing.
    n_stray : int
        How many there are.
    """

    name: str
    kind: Kind
    treatment: str
    missing: int
    distinct: int
    stray: tuple[tuple[int, str], ...] = ()
    n_stray: int = 0


@dataclass(frozen=True)
class Candidate:
    """A model that was tried on the training rows, and its share in what was made of them.

    Parameters
    ----------
    name : str
        What it is.
    kernel : str
        Its kernel, as a formula.
    score : float
        What it scored on training rows that were left out, in the metric of the report.
    seconds : float
        How long that took.
    chosen : bool
        Whether it is part of the model: whether its weight is positive.
    note : str
        Anything worth knowing.
    weight : float
        Its share in the combination that is the model; 1 if it is the model alone.
    """

    name: str
    kernel: str
    score: float
    seconds: float
    chosen: bool
    note: str = ""
    weight: float = 0.0


@dataclass(frozen=True)
class Score:
    """What a model scored on the rows held out.

    Parameters
    ----------
    name : str
        The model.
    values : dict
        Scores by the names of their metrics.
    seconds : float
        How long it took to fit, with everything that was tried before it was chosen.
    error : float
        The standard error of the metric of the report over rows; NaN if it is not known.
    """

    name: str
    values: dict[str, float]
    seconds: float
    error: float = math.nan


@dataclass(frozen=True)
class HeldOut:
    """Some of the rows held out, at most 2,000, for plots.

    Parameters
    ----------
    truth : array of shape (m,)
        Targets.
    prediction : array of shape (m,)
        What the model made of them before it saw them.
    probabilities : array of shape (m, classes), optional
        Of a classifier.
    """

    truth: np.ndarray
    prediction: np.ndarray
    probabilities: np.ndarray | None = None


@dataclass(frozen=True)
class Importance:
    """How much a column matters to the model.

    Parameters
    ----------
    name : str
        The column.
    value : float
        By how much the metric of the report gets worse on the rows held out when the values of the column are dealt
        out anew among them, on average.
    error : float
        The standard error of that.
    """

    name: str
    value: float
    error: float


@dataclass(frozen=True)
class RivalComparison:
    """How much better the model is than a rival on the rows held out, and how sure that is.

    Parameters
    ----------
    rival : str
        What it is compared with.
    gain : float
        Score of the rival less that of the model in the metric of the report: positive if the model is better.
    low, high : float
        Where 90 of 100 such gains lie when the rows held out are drawn again, with replacement.
    rows : int
        How many rows that is about.
    """

    rival: str
    gain: float
    low: float
    high: float
    rows: int

    @property
    def is_clear(self) -> bool:
        """Whether the rows show a difference at all, and are not too few for that."""
        return self.rows >= ENOUGH and (self.low > 0 or self.high < 0)


@dataclass(frozen=True)
class Report:
    """What an automatic fit did and found.

    Parameters
    ----------
    task : {"regression", "classification"}
        What was learned.
    target : str
        The name of the target.
    n_rows, n_train, n_test : int
        Rows in all, and those of the two parts that the scores are about.
    columns : tuple of Column
        All columns in their order.
    candidates : tuple of Candidate
        What was tried, best first.
    metric : str
        The score that decides: a key of ``Score.values``.
    scores : tuple of Score
        Of the model and of two baselines on the rows held out; empty if there are none.
    model : str
        The class of the fitted model.
    kernel : str
        Its kernel, as a formula.
    plan : str
        How it was solved, and why so.
    certificate : str
        Why the kernel is one.
    advice : tuple of str
        What to try next.
    seconds : float
        How long everything took.
    held_out : HeldOut, optional
        Predictions of rows held out.
    importances : tuple of Importance
        Which columns matter, most first; those that there was no time for are left out.
    comparison : RivalComparison, optional
        How the model compares with boosting.
    warnings : tuple of str
        What to look at before anything else: columns that give the target away, cells and targets that were not used.
    dependences : tuple of Dependence
        How predictions depend on the columns that matter most.
    distributions : tuple of Distribution
        How the first columns are spread.
    target_distribution : Distribution, optional
        How the target is spread.
    data : str
        The name of the data, such as that of the file; empty if it has none.
    when : str
        When the fit began, such as "2026-01-31 12:00 UTC".

    Examples
    --------
    >>> from mercer.auto.report import Column, Report
    >>> column = Column("age", "numeric", "standardised", missing=0, distinct=40)
    >>> empty = Report("regression", "y", 50, 40, 10, (column,), (), "RMSE", (), "", "", "", "", (), 0.0, None)
    >>> empty.lower_is_better, empty.to_dict()["columns"][0]["name"]
    (True, 'age')
    """

    task: Task
    target: str
    n_rows: int
    n_train: int
    n_test: int
    columns: tuple[Column, ...]
    candidates: tuple[Candidate, ...]
    metric: str
    scores: tuple[Score, ...]
    model: str
    kernel: str
    plan: str
    certificate: str
    advice: tuple[str, ...]
    seconds: float
    held_out: HeldOut | None
    importances: tuple[Importance, ...] = ()
    comparison: RivalComparison | None = None
    warnings: tuple[str, ...] = ()
    dependences: tuple[Dependence, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    target_distribution: Distribution | None = None
    data: str = ""
    when: str = ""

    @property
    def calibration(self) -> Calibration | None:
        """Whether the chances of rows held out are what they say; None for a regression."""
        found = self.held_out
        if found is None or found.probabilities is None:
            return None
        return measure_calibration(found.truth, found.prediction, found.probabilities)

    @property
    def lower_is_better(self) -> bool:
        """Whether small values of the metric are good."""
        return self.metric in LOWER_IS_BETTER

    def to_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists, texts and numbers, ready for JSON."""
        plain = asdict(replace(self, held_out=None))
        plain["calibration"] = None if self.calibration is None else asdict(self.calibration)
        if self.held_out is not None:
            found = self.held_out
            chances = None if found.probabilities is None else found.probabilities.tolist()
            plain["held_out"] = {
                "truth": found.truth.tolist(),
                "prediction": found.prediction.tolist(),
                "probabilities": chances,
            }
        return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}

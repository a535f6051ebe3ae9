"""The learned function: a curve with its band, or regions with their boundaries and margins."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from mercer.arrays.threads import silence_warnings
from mercer.needs import load_package
from mercer.solvers.conformal.ranks import FEW_POINTS

from ..fitting import Fit, guard
from ..limits import PlayError
from ..state import State

SAMPLES = 5  # functions drawn from a posterior
COVERAGE = 0.9  # of the band
ODDS = math.log(9.0)  # where a probability is 0.9
MOST_BAND = 600  # points up to which a band is quick enough to follow a drag
BAND_GRID = 80  # points at which it is computed; it is straight in between
ROUNDING = 1e-9  # relative size of a coefficient that is 0
LEVELS = 9  # lines of a principal component


@dataclass(frozen=True, eq=False)
class Curve:
    """A function of one input.

    Parameters
    ----------
    grid, values : arrays of shape (r,)
        Where it is drawn, and its values.
    lower, upper : arrays of shape (r,), optional
        The ends of a band.
    band_label : str
        What the band is.
    tube : float, optional
        Half of the width of the tube in which errors cost nothing.
    vectors : int array of shape (m,)
        Which points carry the model.
    vectors_label : str
        What they are called; empty if all points do.
    samples : array of shape (r, s), optional
        Functions drawn from the posterior, in columns.
    """

    grid: np.ndarray
    values: np.ndarray
    lower: np.ndarray | None
    upper: np.ndarray | None
    band_label: str
    tube: float | None
    vectors: np.ndarray
    vectors_label: str
    samples: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Regions:
    """A function of two inputs, and the classes it tells apart.

    Parameters
    ----------
    xs, ys : arrays of shape (r,)
        The grid.
    codes : int8 array of shape (r, r), optional
        The class predicted at (xs[j], ys[i]) in row i and column j; None if nothing is predicted.
    scores : array of shape (r, r)
        f for two classes, how far the winner is ahead for more.
    boundary, margins : lists of arrays of shape (m, 2)
        Lines between classes, and lines of equal margin or probability.
    margin_label : str
        What the margins are.
    vectors : int array of shape (m,)
        Which points carry the model.
    vectors_label : str
        What they are called; empty if all points do.
    """

    xs: np.ndarray
    ys: np.ndarray
    codes: np.ndarray | None
    scores: np.ndarray
    boundary: list[np.ndarray]
    margins: list[np.ndarray]
    margin_label: str
    vectors: np.ndarray
    vectors_label: str


def draw_surface(fit: Fit, resolution: int) -> Curve | Regions:
    """Return the learned function on a grid over the view.

    Parameters
    ----------
    fit : Fit
        A fitted state.
    resolution : int
        Points of the grid, along each input.

    Returns
    -------
    Curve or Regions
        For one input, or for two.

    Examples
    --------
    >>> from mercer.playground.fitting import fit_state
    >>> from mercer.playground.presets import PRESETS
    >>> from mercer.playground.views.surface import draw_surface
    >>> found = draw_surface(fit_state(PRESETS["moons"].make()), 50)
    >>> found.codes.shape, found.margin_label
    ((50, 50), 'margin f = ±1')
    """
    with guard(fit.kernel, fit.state.dim):
        return _draw_curve(fit, resolution) if fit.state.dim == 1 else _draw_regions(fit, resolution)


def make_grid(state: State, resolution: int) -> np.ndarray:
    """Return the points of the grid over the view, shape (r, 1) or (r², 2), along the first input first."""
    x0, x1, y0, y1 = state.view
    xs = np.linspace(x0, x1, resolution)
    if state.dim == 1:
        return xs[:, None]
    return np.stack(np.meshgrid(xs, np.linspace(y0, y1, resolution)), axis=-1).reshape(-1, 2)


def find_vectors(fit: Fit) -> tuple[np.ndarray, str]:
    """Return which points carry the model, and what they are called; all of them have no name."""
    model, everything = fit.model, np.arange(fit.state.n)
    for name, label in (("support_", "support vectors"), ("import_indices_", "import vectors")):
        if hasattr(model, name):
            return np.sort(np.asarray(getattr(model, name))), label
    if fit.state.learner == "perceptron":
        return _find_rows(fit.state.x, np.asarray(model.expansion_.centers)), "mistakes"
    if fit.state.learner == "any_loss" and not model.loss_.smooth:
        coef = np.asarray(model.dual_coef_).reshape(len(model.dual_coef_), -1)
        carries = np.abs(coef).max(axis=1) > ROUNDING * np.abs(coef).max(initial=0.0)
        if len(coef) == fit.state.n:
            return np.flatnonzero(carries), "points that carry f"
        return _find_rows(fit.state.x, np.asarray(model.expansion_.centers)[carries]), "points that carry f"
    return everything, ""


def _find_rows(x: np.ndarray, some: np.ndarray) -> np.ndarray:
    """Return the positions of points that are among some."""
    known = {tuple(row) for row in some.tolist()}
    return np.array([i for i, row in enumerate(x.tolist()) if tuple(row) in known], dtype=np.int64)


# -- one input -------------------------------------------------------------------------------------------------------


def _draw_curve(fit: Fit, resolution: int) -> Curve:
    grid = make_grid(fit.state, resolution)
    if fit.state.learner == "pca":
        nobody = np.empty(0, dtype=np.int64)
        return Curve(grid[:, 0], find_component(fit, grid), None, None, "", None, nobody, "")
    values = np.asarray(fit.model.predict(grid), dtype=np.float64)
    band, samples = fit.state.values.get("band", "intervals"), None
    lower, upper, label = (None, None, "") if band != "intervals" else _find_band(fit, grid)
    if band == "posterior":
        lower, upper, label, samples = _draw_posterior(fit, grid)
    return Curve(grid[:, 0], values, lower, upper, label, _find_tube(fit), *find_vectors(fit), samples)


def _draw_posterior(fit: Fit, grid: np.ndarray) -> tuple[np.ndarray, np.ndarray, str, np.ndarray]:
    """Return the band of two deviations of f, and some functions that the data leaves possible."""
    mean, deviation = fit.model.predict(grid, return_std=True)
    label = f"f ± 2σ and {SAMPLES} draws, with noise of variance α"
    return mean - 2.0 * deviation, mean + 2.0 * deviation, label, fit.model.sample(grid, SAMPLES, random_state=0)


def _find_band(fit: Fit, grid: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None, str]:
    methods = getattr(fit.model, "interval_methods", ())
    if methods[:1] != ("jackknife+",) or fit.state.n > MOST_BAND:  # others would have to be fitted again
        return None, None, ""
    some = np.linspace(grid[0], grid[-1], min(len(grid), BAND_GRID))
    try:
        with silence_warnings(FEW_POINTS):
            ends = fit.model.predict_interval(some, COVERAGE).T
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):
        return None, None, ""
    if not np.isfinite(ends).all():
        return None, None, ""
    lower, upper = (np.interp(grid[:, 0], some[:, 0], end) for end in ends)
    return lower, upper, f"{COVERAGE:.0%} of new points (jackknife+)"


def _find_tube(fit: Fit) -> float | None:
    loss: Any = getattr(fit.model, "loss_", None)
    tube = getattr(fit.model, "epsilon", None) if loss is None else getattr(loss, "width", None)
    wide = loss is None or "Epsilon" in type(loss).__name__
    return float(tube) if tube is not None and wide else None


# -- two inputs ------------------------------------------------------------------------------------------------------


def score_classes(fit: Fit, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the class predicted at each point, and f of each class, or of the second of two, shape (m,) or (m, q)."""
    model, classes = fit.model, np.asarray(fit.model.classes_)
    if hasattr(model, "support_") and len(classes) > 2:
        return np.asarray(model.predict(points)), _compare_pairs(model, points)
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(points), dtype=np.float64)
    else:
        shares = np.asarray(model.predict_proba(points), dtype=np.float64)
        scores = shares[:, 1] - shares[:, 0] if shares.shape[1] == 2 else shares
    if scores.ndim == 1 and (scores == 0).any():  # where models decide each in their own way
        return np.asarray(model.predict(points)), scores
    if scores.ndim == 1:
        return classes[(scores > 0).astype(int)], scores
    return classes[np.argmax(scores, axis=1)], scores


def _compare_pairs(model: Any, points: np.ndarray) -> np.ndarray:
    """Return the least lead of each class over any other one, by the machine of each pair of classes.

    It is above 0 exactly for a class that has the votes of all its pairs, and has no jumps as votes have.
    """
    count = len(model.classes_)
    pairs = copy(model).set_params(decision_function_shape="ovo").decision_function(points)
    leads = np.full((len(points), count), np.inf)
    for value, (i, j) in zip(np.asarray(pairs).T, combinations(range(count), 2), strict=True):
        leads[:, i] = np.minimum(leads[:, i], value)
        leads[:, j] = np.minimum(leads[:, j], -value)
    return leads


def find_component(fit: Fit, points: np.ndarray) -> np.ndarray:
    """Return the principal component that is looked at, at each point."""
    values = np.asarray(fit.model.transform(points), dtype=np.float64)
    wanted = int(fit.state.values["component"])
    found = np.asarray(fit.model.eigenvalues_)
    large = int((found > ROUNDING * np.abs(found).max(initial=0.0)).sum())
    if wanted > large:
        raise PlayError(
            f"this kernel has no component {wanted} here: the features of the points vary in {large} "
            f"direction{'s' * (large != 1)} only. Choose a smaller one, or another kernel."
        )
    return values[:, wanted - 1]


def _draw_regions(fit: Fit, resolution: int) -> Regions:
    x0, x1, y0, y1 = fit.state.view
    xs, ys = np.linspace(x0, x1, resolution), np.linspace(y0, y1, resolution)
    grid, square = make_grid(fit.state, resolution), (resolution, resolution)
    if fit.state.learner == "pca":
        field, nobody = find_component(fit, grid).reshape(square), np.empty(0, dtype=np.int64)
        levels = np.linspace(field.min(), field.max(), LEVELS + 2)[1:-1]
        lines = [line for level in levels for line in _trace(xs, ys, field, float(level))]
        return Regions(xs, ys, None, field, _trace(xs, ys, field, 0.0), lines, "lines of equal value", nobody, "")
    codes, scores = score_classes(fit, grid)
    if scores.ndim == 1:
        field = scores.reshape(square)
        boundary, level, label = _trace(xs, ys, field, 0.0), *_find_margin(fit)
        margins = [line for at in (-level, level) for line in _trace(xs, ys, field, at)] if level else []
    else:
        two = np.sort(scores, axis=1)[:, -2:]
        field = (two[:, 1] - two[:, 0]).reshape(square)
        leads = scores - np.where(scores == two[:, 1:], two[:, :1], two[:, 1:])
        # Every boundary has two sides, so that those of the last class are among those of the others.
        boundary = [line for lead in leads.T[:-1] for line in _trace(xs, ys, lead.reshape(square), 0.0)]
        margins, label = [], ""
    found = codes.astype(np.int8).reshape(square)
    return Regions(xs, ys, found, field, boundary, margins, label, *find_vectors(fit))


def _find_margin(fit: Fit) -> tuple[float, str]:
    """Return f at the margins, 0 if there are none, and what they are."""
    loss = type(getattr(fit.model, "loss_", None)).__name__ if fit.state.learner == "any_loss" else ""
    if fit.state.learner == "svm" or loss in ("Hinge", "SquaredHinge"):
        return 1.0, "margin f = ±1"
    if fit.state.learner == "ridge":
        return 1.0, "f = ±1, where the labels are"
    if fit.state.learner in ("logistic", "import_vectors") or loss == "Logistic":
        return ODDS, "probability 0.1 and 0.9"
    return 0.0, ""


def _trace(xs: np.ndarray, ys: np.ndarray, field: np.ndarray, level: float) -> list[np.ndarray]:
    """Return the lines on which a field has a value."""
    if not np.isfinite(field).all() or not field.min() < level < field.max():
        return []
    contourpy = load_package("contourpy", "a boundary")
    return [np.asarray(line) for line in contourpy.contour_generator(xs, ys, field).lines(level)]

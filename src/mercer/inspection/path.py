"""How good each penalty and each length scale was, in units of the target, and which was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator

from mercer.losses import Squared
from mercer.words import shorten

from .drawing.display import Display
from .drawing.estimator import find_model
from .drawing.style import LEVELS, add_legend, hide_frame, pick_colour, pick_line, show_plain_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_TIMES = 10.0  # errors larger than so many times the least are not worth the room
SQUARES = "neg_mean_squared_error"
NAMES = {"root_mean_squared_error": "RMSE", "mean_absolute_error": "mean absolute error", "r2": "R²"}
MOST_LINES = 6  # more are easier to read as a map


@dataclass(kw_only=True, eq=False, repr=False)
class PathDisplay(Display):
    """The errors of a path of penalties, for each kernel or length scale that was tried.

    Squared errors are shown as their root, in units of the target, and losses as they are.  Use
    :meth:`from_estimator`; the parameters are what it reads.

    Parameters
    ----------
    penalties : array of shape (p,)
        α or C.
    errors : array of shape (m, p)
        The error of each of m kernels at each penalty, or the score if ``larger_is_better``; NaN where there is none.
    length_scales : array of shape (m,), optional
        The length scale of each kernel, if those are numbers.
    kernels : sequence of str
        The name of each kernel.
    chosen : (float, float)
        The penalty chosen and its error.
    chosen_kernel : int
        The position of the kernel chosen.
    penalty_name, error_name : str
        What was varied and what was measured.
    larger_is_better : bool, default=False
        Whether ``errors`` are scores.

    Attributes
    ----------
    ax_, figure_
        What was drawn on, after :meth:`plot`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from mercer import KernelRidgeCV
    >>> from mercer.inspection import PathDisplay
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0.0, 6.0, 60)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.cos(37.0 * X[:, 0])
    >>> model = KernelRidgeCV(kernel=Gaussian(), length_scales=[0.1, 1.0, 10.0]).fit(X, y)
    >>> display = PathDisplay.from_estimator(model)
    >>> display.errors.shape, display.ax_.get_ylabel()
    ((3, 25), 'leave-one-out RMSE')
    >>> plt.close(display.figure_)
    """

    penalties: np.ndarray
    errors: np.ndarray
    kernels: Sequence[str]
    chosen: tuple[float, float]
    chosen_kernel: int = 0
    length_scales: np.ndarray | None = None
    penalty_name: str = "penalty α"
    error_name: str = "leave-one-out RMSE"
    larger_is_better: bool = False

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, kind: Literal["auto", "lines", "map"] = "auto", ax: Axes | None = None
    ) -> Self:
        """Read the path of a model that chose by it, and draw.

        Parameters
        ----------
        estimator : fitted estimator
            One that chose by a path: KernelRidgeCV, KernelRidgeClassifier, KernelLogisticRegressionCV,
            KernelRegressorCV, KernelClassifierCV, SVCCV or SVRCV; or a pipeline that ends in one.
        kind : {"auto", "lines", "map"}, default="auto"
            As for :meth:`plot`.
        ax : Axes, optional
            What to draw on; a new figure if not given.

        Returns
        -------
        PathDisplay
        """
        return cls(**read_path(estimator)).plot(ax, kind=kind)

    def plot(self, ax: Axes | None = None, *, kind: Literal["auto", "lines", "map"] = "auto") -> Self:
        """Draw a line for each kernel, or a map of penalties and length scales, with the choice marked.

        Parameters
        ----------
        ax : Axes, optional
            What to draw on; a new figure if not given.
        kind : {"auto", "lines", "map"}, default="auto"
            Lines or a map, which needs length scales; "auto" draws lines for up to six kernels.

        Returns
        -------
        self
        """
        if kind not in ("auto", "lines", "map"):
            raise ValueError(f"{type(self).__name__}: kind must be 'auto', 'lines' or 'map'; got {kind!r}")
        mappable = self.length_scales is not None and len(np.unique(self.length_scales)) == len(self.errors) > 1
        if kind == "map" and not mappable:
            raise ValueError(f"{type(self).__name__}: a map needs one kernel with several length scales; use 'lines'")
        ax = self._start(ax, (8.0, 4.8))
        if kind == "map" or (kind == "auto" and mappable and len(self.errors) > MOST_LINES):
            self._draw_map(ax)
        else:
            self._draw_lines(ax)
        return self

    def _draw_lines(self, ax: Axes) -> None:
        order = np.argsort(self.penalties)
        for i, row in enumerate(self.errors):
            width = 2.4 if i == self.chosen_kernel and len(self.errors) > 1 else 1.6
            look: dict[str, Any] = {"color": pick_colour(i), "linestyle": pick_line(i), "linewidth": width}
            ax.plot(self.penalties[order], row[order], label=self._name_kernel(i), **look)
        self._mark_choice(ax, *self.chosen)
        ax.set_xscale("log")
        best = float(np.nanmin(self.errors))
        if not self.larger_is_better and best > 0:
            ax.set_yscale("log")
            ax.set_ylim(top=min(1.2 * float(np.nanmax(self.errors)), MOST_TIMES * best))
            show_plain_numbers(ax.yaxis)
        ax.set(xlabel=self.penalty_name, ylabel=self.error_name)
        hide_frame(ax)
        add_legend(ax)

    def _draw_map(self, ax: Axes) -> None:
        from matplotlib.colors import LogNorm

        assert self.length_scales is not None
        rows, columns = np.argsort(self.length_scales), np.argsort(self.penalties)
        values = np.ma.masked_invalid(self.errors[np.ix_(rows, columns)].T)
        positive = not self.larger_is_better and float(values.min()) > 0
        most = min(float(values.max()), MOST_TIMES * float(values.min()))
        look: dict[str, Any] = {"norm": LogNorm(float(values.min()), most)} if positive else {}
        cmap = LEVELS if self.larger_is_better else f"{LEVELS}_r"  # what is better is brighter
        x, y = self.length_scales[rows], self.penalties[columns]
        picture = ax.pcolormesh(_find_edges(x), _find_edges(y), values, cmap=cmap, **look)
        self._mark_choice(ax, self.length_scales[self.chosen_kernel], self.chosen[0])
        ax.set(xscale="log", yscale="log", xlabel="length scale", ylabel=self.penalty_name)
        more = positive and float(values.max()) > most
        bar = ax.figure.colorbar(picture, ax=ax, extend="max" if more else "neither")
        bar.set_label(self.error_name)
        if positive:
            show_plain_numbers(bar.ax.yaxis)
        add_legend(ax)

    def _name_kernel(self, i: int) -> str:
        if self.length_scales is not None and len(np.unique(self.length_scales)) == len(self.errors) > 1:
            return f"length scale {self.length_scales[i]:.3g}"
        return shorten(self.kernels[i])

    def _mark_choice(self, ax: Axes, x: float, y: float) -> None:
        scale = "" if len(self.errors) == 1 else f", {self._name_kernel(self.chosen_kernel)}"
        label = f"chosen: {self.penalty_name.split()[-1]} = {self.chosen[0]:.3g}{scale}"
        look: dict[str, Any] = {"markersize": 15, "color": pick_colour(5), "markeredgecolor": "white", "zorder": 5}
        ax.plot([x], [y], linestyle="none", marker="*", label=label, **look)


def read_path(estimator: BaseEstimator) -> dict[str, Any]:
    """Return what a model keeps of its choice, as the parameters of :class:`PathDisplay`."""
    model = find_model(estimator)
    if hasattr(model, "path_"):
        return _read_penalties(model)
    if hasattr(model, "cv_results_") and hasattr(model, "C_"):
        return _read_grid(model)
    if hasattr(model, "loo_errors_"):
        return _read_losses(model)
    raise ValueError(
        f"PathDisplay draws how a model chose its penalty, and {type(model).__name__} keeps no path; fit "
        "KernelRidgeCV, KernelLogisticRegressionCV, KernelRegressorCV, SVCCV, SVRCV or "
        "KernelRidgeClassifier(alpha='loo')"
    )


def _read_penalties(model: BaseEstimator) -> dict[str, Any]:
    """Read ``path_`` of ridge regression, and of logistic regression and others by their losses."""
    path = model.path_
    measured = next(key for key in ("errors", "log_losses", "losses") if key in path)
    folds = path["by"] == "folds" if "by" in path else getattr(model, "cv", None) is not None
    values, score = np.asarray(path[measured], dtype=np.float64), float(model.best_score_)
    kernels = list(path["kernels"])
    places = [i for i, kernel in enumerate(kernels) if kernel == model.kernel_]
    return {
        "penalties": np.asarray(path["alphas"], dtype=np.float64),
        "kernels": [repr(kernel) for kernel in kernels],
        "length_scales": _parse_scales(path["length_scales"]),
        "chosen_kernel": places[0] if places else 0,
        **_measure(_name_measure(model, measured), -_mask_infinite(values), score, folds, float(model.alpha_)),
    }


def _read_grid(model: BaseEstimator) -> dict[str, Any]:
    """Read ``cv_results_`` of a search over support vector machines, in which length scales run fastest."""
    table = model.cv_results_
    scales: list[Any] = [None]
    if "param_length_scale" in table:
        first = table["params"][0]["C"]
        scales = [cell["length_scale"] for cell in table["params"] if cell["C"] == first]
    given = np.array([cell["C"] for cell in table["params"]][:: len(scales)])
    scores = np.asarray(table["mean_test_score"]).reshape(len(given), len(scales))
    default = "accuracy" if hasattr(model, "classes_") else "R²"
    scoring = default if model.scoring is None else _name_scoring(model.scoring)
    return {
        "penalties": given,
        "kernels": [repr(model.kernel_) if scale is None else f"length scale {scale}" for scale in scales],
        "length_scales": _parse_scales(scales),
        "chosen_kernel": int(model.best_index_) % len(scales),
        "penalty_name": "weight of errors C",
        **_measure(scoring, _mask_infinite(scores.T), float(model.best_score_), True, float(model.C_)),
    }


def _read_losses(model: BaseEstimator) -> dict[str, Any]:
    """Read ``loo_errors_`` of the ridge classifier."""
    scores = -_mask_infinite(np.asarray(model.loo_errors_, dtype=np.float64))[None, :]
    return {
        "penalties": np.asarray(model.alphas_, dtype=np.float64),
        "kernels": [repr(model.kernel_)],
        **_measure(f"{SQUARES} of targets ±1", scores, float(np.nanmax(scores)), False, float(model.alpha_)),
    }


def _name_measure(model: BaseEstimator, measured: str) -> str:
    """Return what minus the entries of a path is: a score by its name, or SQUARES."""
    if measured == "log_losses":
        return "neg_log-loss"
    if measured == "losses":
        return SQUARES if isinstance(model.loss_, Squared) else f"neg_loss {shorten(repr(model.loss_), 40)}"
    if getattr(model, "scoring", None) is not None:
        return _name_scoring(model.scoring)
    several = np.ndim(getattr(model, "dual_coef_", 0)) > 1
    return f"{SQUARES} of targets over their deviation" if several else SQUARES


def _name_scoring(scoring: Any) -> str:
    return scoring if isinstance(scoring, str) else shorten(getattr(scoring, "__name__", str(scoring)), 40)


def _measure(scoring: str, scores: np.ndarray, best: float, folds: bool, penalty: float) -> dict[str, Any]:
    """Return scores as errors where they are minus those, in units of the target, with the choice and their name.

    Examples
    --------
    >>> import numpy as np
    >>> found = _measure("neg_mean_squared_error", np.array([[-4.0, -9.0]]), -4.0, True, 0.1)
    >>> found["errors"].tolist(), found["chosen"], found["error_name"]
    ([[2.0, 3.0]], (0.1, 2.0), 'cross-validated RMSE')
    """
    negative = scoring.startswith("neg_")
    values, chosen = (-scores, -best) if negative else (scores, best)
    name = scoring.removeprefix("neg_")
    if scoring.startswith(SQUARES):
        values, chosen = np.sqrt(np.maximum(values, 0.0)), float(np.sqrt(max(chosen, 0.0)))
        name = "RMSE" + scoring.removeprefix(SQUARES)
    name = NAMES.get(name, name)
    return {
        "errors": values,
        "chosen": (penalty, chosen),
        "error_name": f"{'cross-validated' if folds else 'leave-one-out'} {name}",
        "larger_is_better": not negative,
    }


def _mask_infinite(errors: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(errors), errors, np.nan)


def _find_edges(centres: np.ndarray) -> np.ndarray:
    """Return where cells end whose centres are in the middle of a logarithmic scale.

    Examples
    --------
    >>> import numpy as np
    >>> _find_edges(np.array([1.0, 100.0])).round(3).tolist()
    [0.1, 10.0, 1000.0]
    """
    logs = np.log(centres)
    half = np.diff(logs) / 2 if len(logs) > 1 else np.array([0.5])
    return np.asarray(np.exp([logs[0] - half[0], *((logs[1:] + logs[:-1]) / 2), logs[-1] + half[-1]]))


def _parse_scales(scales: Sequence[Any]) -> np.ndarray | None:
    """Return length scales that are single numbers, None if some are not."""
    try:
        values = np.array([float(scale) for scale in scales])
    except (TypeError, ValueError):
        return None
    return values

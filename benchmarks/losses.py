"""Models of any loss: quantiles, smooth losses against one ridge fit, losses of one's own, and outliers.

``python -m benchmarks.losses 10`` is a small trial with a tenth of the rows.
"""

import sys
import warnings
from itertools import product

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer.kernels import Gaussian
from mercer.losses import CustomLoss, Huber, LogCosh, Poisson, Quantile, SquaredHinge
from mercer.models import KernelClassifier, KernelRegressor, KernelRidge

from .measure import race, table, timed
from .quantiles import kin40k, show_quantiles


def at_most(ratio: float, target: float) -> str:
    return f"{ratio:.2f}× (target ≤ {target:g}×{'' if ratio <= target else ', missed'})"


def smooth_models(y: np.ndarray, alpha: float, kernel: Gaussian) -> dict[str, tuple[object, np.ndarray]]:
    """A model and targets of each loss that is measured."""
    counts = np.random.default_rng(0).poisson(np.exp(1 + y / 2)).astype(float)
    signs = np.where(y > np.median(y), 1, -1)
    return {
        "Huber": (KernelRegressor(Huber(0.2), alpha, kernel=kernel), y),
        "SquaredHinge": (KernelClassifier(SquaredHinge(), alpha, kernel=kernel), signs),
        "Poisson": (KernelRegressor(Poisson(), alpha, kernel=kernel), counts),
    }


def smooth_rows(n: int, alphas: tuple[float, ...] = (0.01, 0.1, 1.0), length: float = 2.0) -> list[list[object]]:
    """Fits to a relative gap of 1e-6, the default, against one ridge fit of the same rows, kernel and penalty."""
    X, y, _, _ = kin40k(n)
    kernel, rows = Gaussian(length), []
    for alpha in alphas:
        ridge = KernelRidge(alpha, kernel=kernel, fit_intercept=True)
        ridge.fit(X[:300], y[:300])
        ridge, base = timed(lambda m=ridge: m.fit(X, y))
        rows.append([f"{alpha:g}", "KernelRidge", ridge.plan_.solver, f"{base:.2f} s", "", "", ""])
        for name, (model, target) in smooth_models(y, alpha, kernel).items():
            model.fit(X[:300], target[:300])
            fit, seconds = timed(lambda m=model, t=target: m.fit(X, t))
            gap = fit.duality_gap_.relative
            reached = f"{gap:.0e}{'' if gap <= 1e-6 else ' (target 1e-6, missed)'}"
            rows.append([f"{alpha:g}", name, fit.plan_.solver, f"{seconds:.2f} s", at_most(seconds / base, 3.0),
                         fit.n_iter_, reached])  # fmt: skip
    return rows


def custom_rows(n: int, alpha: float = 0.1, length: float = 2.0, repeat: int = 3) -> list[list[object]]:
    """A loss of which only the value is written, against the same one as it comes, in turns."""
    X, y, _, _ = kin40k(n)
    counts = np.random.default_rng(0).poisson(np.exp(1 + y / 2)).astype(float)
    pairs = {
        "Huber(0.2)": (Huber(0.2), y, lambda y, f: np.where(
            np.abs(y - f) <= 0.2, 0.5 * (y - f) ** 2, 0.2 * (np.abs(y - f) - 0.1))),
        "LogCosh": (LogCosh(), y, lambda y, f: np.logaddexp(y - f, f - y) - np.log(2)),
        "Poisson": (Poisson(), counts, lambda y, f: np.exp(f) - y * f),
    }  # fmt: skip
    rows: list[list[object]] = []
    for name, (built_in, target, value) in pairs.items():
        own, making = timed(lambda v=value: CustomLoss(v))
        models = [KernelRegressor(loss, alpha, kernel=Gaussian(length)) for loss in (built_in, own)]
        ours, other = race([lambda m=m, t=target: m.fit(X, t) for m in models], repeat)
        difference = np.abs(models[0].expansion_(X) - models[1].expansion_(X)).max()
        rows.append([name, models[1].plan_.solver, f"{ours:.2f} s", f"{other:.2f} s", at_most(other / ours, 2.0),
                     f"{making * 1e3:.0f} ms", f"{models[0].n_iter_}, {models[1].n_iter_}",
                     f"{difference:.0e}"])  # fmt: skip
    return rows


# -- outliers ----------------------------------------------------------------------------------------------------------


def trimmed_error(model, X: np.ndarray, y: np.ndarray) -> float:
    """The root mean square of the smallest four fifths of all errors, which outliers do not move."""
    squares = np.sort((model.predict(X) - y) ** 2)
    return float(np.sqrt(squares[: 4 * len(y) // 5].mean()))


def robust_rows(n: int, tuning: int, length: float = 2.0) -> list[list[object]]:
    """A tenth of the targets moved up or down by 10 to 50 deviations.

    α, and for Huber the width δ, have the smallest trimmed error on a fifth of the first rows, once without outliers
    and once with them, also in that fifth.  Fits without outliers have either setting, as do those of ridge without the
    rows that are outliers, which is what knowing them would give.
    """
    X, y, X_test, y_test = kin40k(n)
    rng, kernel, some = np.random.default_rng(0), Gaussian(length), min(tuning, n)
    bad, cut = rng.permutation(n)[: n // 10], 4 * some // 5
    moved, known = y.copy(), np.delete(np.arange(n), bad)
    moved[bad] += rng.choice([-1.0, 1.0], size=len(bad)) * rng.uniform(10.0, 50.0, size=len(bad))
    choices: dict[str, list[KernelRidge | KernelRegressor]] = {
        "ridge": [KernelRidge(alpha, kernel=kernel, fit_intercept=True) for alpha in np.logspace(-3, 1, 5)],
        "Huber": [KernelRegressor(Huber(width), alpha, kernel=kernel)
                  for alpha, width in product((1e-3, 3e-3, 1e-2, 3e-2), (0.03, 0.1, 0.3))],
        "Quantile(0.5)": [KernelRegressor(Quantile(0.5), alpha, kernel=kernel) for alpha in (0.01, 0.03, 0.1, 0.3)],
    }  # fmt: skip

    def choose(models, target):
        return min(models, key=lambda m: trimmed_error(m.fit(X[:cut], target[:cut]), X[cut:some], target[cut:some]))

    def error(model, rows, target):
        return float(np.sqrt(np.mean((clone(model).fit(X[rows], target[rows]).predict(X_test) - y_test) ** 2)))

    def change(dirty, clean, name):
        goal = "" if name == "ridge" else f" (target ≤ 5 %{'' if dirty <= 1.05 * clean else ', missed'})"
        return f"{clean:.4f}: {dirty / clean - 1:+.1%}{goal}"

    everything, rows = np.arange(n), []
    for name, models in choices.items():
        best, robust = choose(models, y), choose(models, moved)
        dirty, same, least = error(robust, everything, moved), error(robust, everything, y), error(best, everything, y)
        settings = [f"α {m.alpha:g}" + (f", δ {m.loss.width:g}" if name == "Huber" else "") for m in (robust, best)]
        rows.append([name, f"{dirty:.4f}, {settings[0]}", change(dirty, same, name),
                     f"{settings[1]}, {change(dirty, least, name)}"])  # fmt: skip
        if name == "ridge":
            rows.append(["ridge without these rows", f"{error(best, known, y):.4f}, {settings[1]}", "", ""])
    return rows


def main(part: int = 1) -> None:
    """All tables, with one of so many parts of the rows."""
    warnings.simplefilter("always", ConvergenceWarning)
    show_quantiles(part)
    n, large = 5000 // part, 10_000 // part
    header = ["alpha", "loss", "solver", "fit", "ratio to ridge", "steps", "relative gap"]
    table(f"Smooth losses, {large:,} rows of kin40k, length scale 2", header, smooth_rows(large))
    header = ["loss", "solver", "built in", "own", "ratio", "reading it", "steps", "largest difference"]
    table(f"A loss of one's own in NumPy, {n:,} rows of kin40k", header, custom_rows(n))
    header = ["loss", "RMSE with outliers", "without, same setting", "without, best setting"]
    title = f"Outliers in a tenth of the targets, {large:,} rows of kin40k"
    table(title, header, robust_rows(large, 3000 // part))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

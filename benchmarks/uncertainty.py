"""Intervals at work: how many new targets they hold, and how wide they are, over many splits of real data."""

import sys

import numpy as np
from sklearn.model_selection import train_test_split

from mercer.kernels import Matern
from mercer.models import KernelQuantileRegressor, KernelRidge, KernelRidgeCV
from mercer.solvers.conformal.split import split_conformal

from .measure import regression_split, table

SETS = ("energy", "concrete", "airfoil", "kin40k", "pol")
SPLITS = 20
COVERAGE = 0.9
MOST = 1000  # rows that models are fitted to


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """All points and targets, standardised, or made ones without data."""
    data = regression_split(name)
    if data is None:
        print(f"{name}: made rows instead, because MERCER_DATA does not name the data folder")
        rng = np.random.default_rng(0)
        X = rng.uniform(-1, 1, size=(600, 3))
        y = np.sin(3 * X[:, 0]) + (0.1 + 0.4 * np.abs(X[:, 1])) * rng.normal(size=600)
        return X, y / y.std()
    X, y, X_test, y_test = data
    return np.vstack([X, X_test]), np.concatenate([y, y_test])


def intervals(X: np.ndarray, y: np.ndarray, new: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """The ends by every method, from the same rows; kernel and penalty are chosen from half of them."""
    half = len(y) // 2
    found = KernelRidgeCV(random_state=seed).fit(X[:half], y[:half])
    ridge = KernelRidge(found.alpha_, kernel=found.kernel_, fit_intercept=True).fit(X, y)
    ends = {method: ridge.predict_interval(new, COVERAGE, method) for method in ("jackknife+", "full", "cv+", "local")}
    # What split conformal has to do: half of the rows to fit, the others to see how wrong that is.
    errors = np.abs(y[half:] - found.predict(X[half:]))
    ends["split"] = split_conformal(found.predict(new), errors, COVERAGE)
    quantiles = KernelQuantileRegressor(alpha=0.1, kernel=Matern(1.5, length_scale=float(np.sqrt(X.shape[1]))))
    ends["quantile"] = quantiles.fit(X, y).predict_interval(new, COVERAGE)
    return ends


def measure_coverage(name: str, splits: int = SPLITS) -> None:
    """Print coverage and mean width of every method, with the deviation over splits."""
    X, y = read(name)
    inside, width = dict[str, list[float]](), dict[str, list[float]]()
    for seed in range(splits):
        fit, new = train_test_split(np.arange(len(y)), train_size=min(MOST, int(0.8 * len(y))), random_state=seed)
        for method, ends in intervals(X[fit], y[fit], X[new], seed).items():
            held = (ends[:, 0] <= y[new]) & (y[new] <= ends[:, 1])
            inside.setdefault(method, []).append(float(held.mean()))
            width.setdefault(method, []).append(float(np.diff(ends).mean()))
    rows = [
        [method, f"{np.mean(inside[method]):.3f} ± {np.std(inside[method]):.3f}", f"{np.mean(width[method]):.3f}"]
        for method in inside
    ]
    title = f"{name}: {splits} splits of {len(y)} rows, coverage {COVERAGE}, widths in deviations of the target"
    table(title, ["method", "held", "mean width"], rows)


def main() -> None:
    """Measure all sets, or those named after the benchmark."""
    for name in [name for name in sys.argv[2:] if name in SETS] or SETS:
        measure_coverage(name)

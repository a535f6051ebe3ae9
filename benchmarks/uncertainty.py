"""Intervals at work: how many new targets they hold, and how wide they are, over many splits of real data."""

import sys

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from mercer.kernels import Gaussian, Matern
from mercer.models import (
    SVC,
    KernelLogisticRegression,
    KernelQuantileRegressor,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeCV,
)
from mercer.solvers.conformal.split import split_conformal

from .measure import keel, regression_split, table

SETS = ("energy", "concrete", "airfoil", "kin40k", "pol")
SPLITS = 20
COVERAGE = 0.9
LABELLED = ("banana", "german", "heart", "phoneme")
MOST = 1000  # rows that models are fitted to
MOST_OF_CLASSES = 400  # the same for classes


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


def measure_sets(name: str, splits: int = SPLITS) -> None:
    """Print how often sets of classes hold the right one, and how large they are, over splits."""
    data = keel(name)
    if data is None:
        print(f"{name}: skipped, because MERCER_DATA does not name the data folder")
        return
    X, y = data
    models = {
        "ridge": KernelRidgeClassifier(alpha=1.0, kernel=Gaussian(1.0)),
        "logistic": KernelLogisticRegression(alpha=0.1, kernel=Gaussian(1.0)),
        "SVC": SVC(C=1.0, kernel=Gaussian(1.0)),
    }
    inside, size = ({label: list[float]() for label in models} for _ in range(2))
    for seed in range(splits):
        count = min(MOST_OF_CLASSES, int(0.7 * len(y)))
        fit, new = train_test_split(np.arange(len(y)), train_size=count, random_state=seed, stratify=y)
        scale = StandardScaler().fit(X[fit])
        for label, model in models.items():
            sets = model.fit(scale.transform(X[fit]), y[fit]).predict_set(scale.transform(X[new]), COVERAGE)
            held = sets[np.arange(len(new)), np.searchsorted(model.classes_, y[new])]
            inside[label].append(float(held.mean()))
            size[label].append(float(sets.sum(axis=1).mean()))
    rows = [
        [label, f"{np.mean(inside[label]):.3f} ± {np.std(inside[label]):.3f}", f"{np.mean(size[label]):.3f}"]
        for label in models
    ]
    table(f"{name}: {splits} splits of {len(y)} rows, coverage {COVERAGE}", ["sets of", "held", "mean size"], rows)


def main(*names: str) -> None:
    """Measure all sets of data, or those named."""
    for name in SETS:
        if not names or name in names:
            measure_coverage(name)
    for name in LABELLED:
        if not names or name in names:
            measure_sets(name)


if __name__ == "__main__":
    main(*sys.argv[1:])

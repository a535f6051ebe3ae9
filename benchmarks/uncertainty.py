"""Intervals at work: how many new targets they hold, and how wide they are, over many splits of real data.

``python -m benchmarks.uncertainty kin40k --splits 5`` measures one set of data, ``--methods`` some of the methods.
"""

import argparse
import csv
import gzip
from collections.abc import Sequence

import numpy as np
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import StandardScaler

from mercer.kernels import Gaussian, Kernel
from mercer.models import (
    SVC,
    KernelLogisticRegression,
    KernelQuantileRegressor,
    KernelRidge,
    KernelRidgeClassifier,
    KernelRidgeCV,
)
from mercer.solvers.conformal.split import split_conformal

from .measure import data_folder, keel, regression_split, table

SETS = ("energy", "concrete", "airfoil", "abalone", "ames", "seoul_bike", "kin40k", "pol")
TABLES = ("abalone", "ames", "seoul_bike")  # whose columns of numbers are taken, the last of them as the target
LARGE = ("kin40k", "pol")
METHODS = ("jackknife+", "full", "cv+", "local", "split", "quantile")
SPLITS = 20
COVERAGE = 0.9
LABELLED = ("banana", "german", "heart", "phoneme")
MOST = 1000  # rows that models are fitted to
MOST_OF_LARGE = 3000  # the same for large sets of data
MOST_NEW = 4000  # rows that intervals are made at
MOST_OF_CLASSES = 400  # rows that models are fitted to for classes
PENALTIES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)  # of quantiles, of which the smallest take long


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """All points and targets, standardised, or made ones without data."""
    data = read_table(name) if name in TABLES else regression_split(name)
    if data is None:
        print(f"{name}: made rows instead, because MERCER_DATA does not name the data folder")
        rng = np.random.default_rng(0)
        X = rng.uniform(-1, 1, size=(600, 3))
        y = np.sin(3 * X[:, 0]) + (0.1 + 0.4 * np.abs(X[:, 1])) * rng.normal(size=600)
        return X, y / y.std()
    X, y, *rest = data
    return (np.vstack([X, rest[0]]), np.concatenate([y, rest[1]])) if rest else (X, y)


def read_table(name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """The columns of a table that are all numbers and not all the same, standardised, or None without data."""
    folder = data_folder()
    if folder is None:
        return None
    with gzip.open(folder / "tables" / f"{name}.csv.gz", "rt") as file:
        rows = list(csv.reader(file))[1:]
    columns = []
    for column in zip(*rows, strict=True):
        try:
            numbers = np.array(column, dtype=np.float64)
        except ValueError:
            continue
        if np.isfinite(numbers).all() and numbers.std() > 0:
            columns.append((numbers - numbers.mean()) / numbers.std())
    return np.column_stack(columns[1:-1]), columns[-1]  # the first says which rows others test with


def intervals(
    X: np.ndarray, y: np.ndarray, new: np.ndarray, seed: int, methods: Sequence[str]
) -> dict[str, np.ndarray]:
    """The ends by every method, from the same rows; kernels and penalties are chosen from half of them."""
    half = len(y) // 2
    found = KernelRidgeCV(random_state=seed).fit(X[:half], y[:half])
    ridge = KernelRidge(found.alpha_, kernel=found.kernel_, fit_intercept=True).fit(X, y)
    ends = {}
    for method in methods:
        if method == "split":
            # What split conformal has to do: half of the rows to fit, the others to see how wrong that is.
            errors = np.abs(y[half:] - found.predict(X[half:]))
            ends[method] = split_conformal(found.predict(new), errors, COVERAGE)
        elif method == "quantile":
            alpha = choose_quantiles(found.kernel_, X[:half], y[:half])
            ends[method] = (
                KernelQuantileRegressor(alpha=alpha, kernel=found.kernel_).fit(X, y).predict_interval(new, COVERAGE)
            )
        else:
            ends[method] = ridge.predict_interval(new, COVERAGE, method)
    return ends


def choose_quantiles(kernel: Kernel, X: np.ndarray, y: np.ndarray) -> float:
    """The penalty of both quantiles with the smallest pinball loss on three folds."""
    levels = [(1.0 - COVERAGE) / 2.0, (1.0 + COVERAGE) / 2.0]
    search = GridSearchCV(KernelQuantileRegressor(levels, kernel=kernel), {"alpha": PENALTIES}, cv=3, refit=False)
    return float(search.fit(X, y).best_params_["alpha"])


def measure_coverage(name: str, splits: int = SPLITS, methods: Sequence[str] = METHODS) -> None:
    """Print coverage and mean width of every method, with the deviation over splits."""
    X, y = read(name)
    count = min(MOST_OF_LARGE if name in LARGE else MOST, int(0.8 * len(y)))
    inside, width = dict[str, list[float]](), dict[str, list[float]]()
    for seed in range(splits):
        fit, new = train_test_split(np.arange(len(y)), train_size=count, random_state=seed)
        new = new[:MOST_NEW]
        for method, ends in intervals(X[fit], y[fit], X[new], seed, methods).items():
            held = (ends[:, 0] <= y[new]) & (y[new] <= ends[:, 1])
            inside.setdefault(method, []).append(float(held.mean()))
            width.setdefault(method, []).append(float(np.diff(ends).mean()))
    rows = [
        [method, f"{np.mean(inside[method]):.3f} ± {np.std(inside[method]):.3f}", f"{np.mean(width[method]):.3f}"]
        for method in inside
    ]
    title = f"{name}: {splits} splits of {len(y)} rows, a sample of {count} to fit and {len(new)} to test, "
    title += f"coverage {COVERAGE}, widths in deviations of the target"
    table(title, ["method", "held", "mean width"], rows)


def measure_sets(name: str, splits: int = SPLITS) -> None:
    """Print how often sets of classes hold the right one, and how large they are, over splits."""
    data = keel(name)
    if data is None:
        print(f"{name}: skipped, because MERCER_DATA does not name the data folder")
        return
    X, y = data
    kernel = Gaussian(float(np.sqrt(X.shape[1])))  # one that sees no neighbours learns nothing but shares of classes
    models = {
        "ridge": KernelRidgeClassifier(alpha=1.0, kernel=kernel),
        "logistic": KernelLogisticRegression(alpha=0.1, kernel=kernel),
        "SVC": SVC(C=1.0, kernel=kernel),
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


def main(names: Sequence[str] = (), splits: int = SPLITS, methods: Sequence[str] = METHODS) -> None:
    """Measure all sets of data, or those named."""
    for name in SETS:
        if not names or name in names:
            measure_coverage(name, splits, methods)
    for name in LABELLED:
        if not names or name in names:
            measure_sets(name, splits)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="set", help=f"of data: {', '.join(SETS + LABELLED)}")
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    given = parser.parse_args()
    if unknown := set(given.names) - {*SETS, *LABELLED}:
        parser.error(f"there is no set of data {', '.join(sorted(unknown))}; there are {', '.join(SETS + LABELLED)}")
    main(given.names, given.splits, given.methods)

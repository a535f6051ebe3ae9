"""Support vector machines in cells beside one machine of all points: time of a whole grid, and error at new points.

``python -m benchmarks.cells 10`` takes a tenth of the points.
"""

import sys

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from mercer.models import SVC, SVCCV, CellSVC

from .measure import keel, table, timed

HELD_OUT = 20_000
HEADER = ["data", "machine", "time", "error", "cells", "largest", "fits", "stopped", "C, length scale", "worst gap"]


def sheet(n, d=20, latent=5, noise=0.1, seed=0):
    """Points near a curved sheet of five dimensions, two classes with a curved boundary in it, a tenth mislabelled."""
    fixed, rng = np.random.default_rng(7), np.random.default_rng(seed)
    A, B = fixed.normal(size=(2, latent, d))
    Z = rng.uniform(-1, 1, size=(n, latent))
    X = Z @ A + 0.5 * np.sin(2 * Z @ B) + 0.2 * rng.normal(size=(n, d))
    height = np.sin(3 * Z[:, 0]) + Z[:, 1] ** 2 - 0.5 + 0.8 * Z[:, 2] * Z[:, 3] - 0.3 * Z[:, 4]
    return X, (height > 0) ^ (rng.random(n) < noise)


def ball(n, d=20, noise=0.1, seed=0):
    """Points all over twenty dimensions, of which five matter, a tenth mislabelled: nothing is local here."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, ((X[:, :3] ** 2).sum(axis=1) + X[:, 3] * X[:, 4] > 2.4) ^ (rng.random(n) < noise)


def cover(n, seed=0, kinds=400, classes=7):
    """Points like stands of trees: ten measurements, one region of 4 and one soil of 40 in columns, seven classes."""
    fixed, rng = np.random.default_rng(8), np.random.default_rng(seed)
    centres = 1.5 * fixed.normal(size=(kinds, 10))
    soil, region = fixed.integers(40, size=kinds), fixed.integers(4, size=kinds)
    share = np.array([0.36, 0.49, 0.06, 0.01, 0.02, 0.03, 0.03])
    label = fixed.choice(classes, size=kinds, p=share)
    kind = rng.integers(kinds, size=n)
    other = rng.random(n) < 0.2  # a soil of any kind
    soils = np.where(other, rng.integers(40, size=n), soil[kind])
    X = np.hstack([centres[kind] + rng.normal(size=(n, 10)), np.eye(4)[region[kind]], np.eye(40)[soils]])
    return X, np.where(rng.random(n) < 0.05, rng.choice(classes, size=n, p=share), label[kind])


def describe(name, model, seconds, error):
    pair = f"{model.C_:.3g}, {model.length_scale_:.3g}"
    shape = [len(model.cells_), model.cell_sizes_.max(), model.n_fits_, model.n_stopped_]
    return [name, "cells", f"{seconds:.1f} s", f"{error:.2%}", *shape, pair, f"{model.duality_gap_.relative:.0e}"]


def contest(name, make, n, grid, alone=True):
    """Fit cells, and one machine of all points with the pair that cells chose together."""
    X, y = make(n + HELD_OUT)
    scaler = StandardScaler().fit(X[:n])
    X = scaler.transform(X)
    new, labels, X, y = X[n:], y[n:], X[:n], y[:n]
    model, seconds = timed(lambda: CellSVC(*grid).fit(X, y))
    error, predicting = timed(lambda: 1 - model.score(new, labels))
    name = f"{name} {n:,} × {X.shape[1]}"
    rows = [describe(name, model, seconds, error)]
    print(f"{name}: {model.plan_}; {HELD_OUT:,} predictions in {predicting:.1f} s", flush=True)
    if alone:
        one, seconds = timed(lambda: SVC(C=model.C_, kernel=model.kernel_).fit(X, y))
        error, gap = 1 - one.score(new, labels), f"{one.duality_gap_.relative:.0e}"
        rows.append([name, "one, at their pair", f"{seconds:.1f} s", f"{error:.2%}", 1, n, 1, "", "", gap])
    return rows


def real_rows():
    rows = []
    for name in ("letter", "phoneme", "banana"):
        data = keel(name)
        if data is None:
            print(f"{name}: skipped, because MERCER_DATA does not name the data folder")
            continue
        X, new, y, labels = train_test_split(*data, test_size=0.25, random_state=0, stratify=data[1])
        scaler = StandardScaler().fit(X)
        X, new = scaler.transform(X), scaler.transform(new)
        model, seconds = timed(lambda X=X, y=y: CellSVC(cell_size=max(1000, len(X) // 4), search_size=1000).fit(X, y))
        title = f"{name} {len(X):,} × {X.shape[1]}"
        rows.append(describe(title, model, seconds, 1 - model.score(new, labels)))
        one, seconds = timed(lambda X=X, y=y: SVCCV().fit(X, y))
        error, pair = 1 - one.score(new, labels), f"{one.C_:.3g}, {one.length_scale_:.3g}"
        rows.append([title, "SVCCV", f"{seconds:.1f} s", f"{error:.2%}", 1, len(X), 64 * 5, "", pair,
                     f"{one.duality_gap_.relative:.0e}"])  # fmt: skip
    return rows


def main(divisor: float = 1.0, *names: str) -> None:
    names = names or ("sheet", "ball", "cover", "real")
    wide = np.logspace(-2, 3, 10), np.geomspace(0.1, 5.0, 10) * np.sqrt(40.0)
    few, many = int(200_000 / divisor), int(500_000 / divisor)
    rows = []
    for name in names:
        if name == "real":
            rows += real_rows()
        elif name == "cover":
            rows += contest(name, cover, many, (), alone=divisor > 1)
        else:
            rows += contest(name, {"sheet": sheet, "ball": ball}[name], few, wide)
    table("Machines in cells: 10 × 10 pairs (sheet, ball) or 8 × 8 (the others), 5 folds", HEADER, rows)


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]), *sys.argv[2:])

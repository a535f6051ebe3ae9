"""Learned kernels: metrics beside length scales and xRFM, their time, and weights of several kernels.

``python -m benchmarks.learning 10`` is a small trial with a tenth of the rows.  xRFM, himalaya and MKLpy are compared
with where they are installed.
"""

import importlib.util
import sys

import numpy as np

from mercer.models import KernelRidgeCV, RecursiveFeatureRegressor

from . import margins, several
from .measure import regression_split, table, timed

TARGETS = {"pol": 0.066, "kin40k": 0.055}  # root mean squared errors of standardised targets
SETS = ("pol", "kin40k", "concrete", "energy", "airfoil")


def reach(value: float, target: float | None, unit: str = "") -> str:
    if target is None:
        return f"{value:.4g}{unit}"
    return f"{value:.4g}{unit} (target ≤ {target:g}{unit}{'' if value <= target else ', missed'})"


def load(name: str, part: int = 1) -> tuple[np.ndarray, ...] | None:
    """Rows and targets of the first split, standardised on the training part."""
    data = regression_split(name)
    if data is None:
        print(f"{name}: skipped, because MERCER_DATA does not name the data folder")
        return None
    X, y, X_test, y_test = data
    return X[::part], y[::part], X_test, y_test


def rmse(model: object, X: np.ndarray, y: np.ndarray) -> float:
    return float(np.sqrt(np.mean((np.asarray(model.predict(X)).ravel() - y) ** 2)))


def fit_xrfm(X: np.ndarray, y: np.ndarray, device: str = "cpu") -> object:
    """xRFM at its defaults, with the fifth of the rows that it asks for held back."""
    import torch
    from xrfm import xRFM

    held = np.random.default_rng(0).random(len(X)) < 0.2
    parts = [torch.as_tensor(v, dtype=torch.float32, device=device) for v in (X[~held], y[~held, None])]
    others = [torch.as_tensor(v, dtype=torch.float32, device=device) for v in (X[held], y[held, None])]
    model = xRFM(device=torch.device(device), tuning_metric="mse", verbose=False, random_state=0)
    return model.fit(*parts, *others)


def metric_rows(part: int) -> list[list[object]]:
    """Errors and seconds of all that learn scales or a metric, on rows that none has seen."""
    rows: list[list[object]] = []
    for name in SETS:
        data = load(name, part)
        if data is None:
            continue
        X, y, X_test, y_test = data
        kinds = {
            "RecursiveFeatureRegressor()": lambda X=X, y=y: RecursiveFeatureRegressor(random_state=0).fit(X, y),
            "KernelRidgeCV()": lambda X=X, y=y: KernelRidgeCV(random_state=0).fit(X, y),
        }
        if importlib.util.find_spec("xrfm") is not None and len(X) < 5000:
            kinds["xRFM, defaults"] = lambda X=X, y=y: fit_xrfm(X, y)
        for kind, fit in kinds.items():
            model, seconds = timed(fit)
            ours = kind.startswith("Recursive")
            target = TARGETS.get(name) if ours and part == 1 else None
            if kind.startswith("xRFM"):
                error = rmse(model, X_test.astype(np.float32), y_test)
            else:
                error = rmse(model, X_test, y_test)
            limit = 180.0 if target else None
            how = min(model.candidates_, key=lambda one: one["error"])["origin"] if ours else ""
            rows.append(
                [name, f"{len(X):,} × {X.shape[1]}", kind, reach(error, target), reach(seconds, limit, " s"), how]
            )
    return rows


def time_rows(part: int) -> list[list[object]]:
    """Seconds of a fit with all its choices, for each 1,000 rows."""
    data = load("pol")
    if data is None:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(10_000, 26))
        y = np.sin(X[:, 0] + X[:, 1]) + 0.1 * rng.normal(size=10_000)
    else:
        X, y = data[:2]
    RecursiveFeatureRegressor(random_state=0).fit(X[:100], y[:100])
    rows: list[list[object]] = []
    for n in (1000, 2000, 5000, 10_000):
        n //= part
        model, seconds = timed(lambda n=n: RecursiveFeatureRegressor(random_state=0).fit(X[:n], y[:n]))
        rows.append([f"{n:,}", f"{seconds:.1f} s", reach(1000 * seconds / n, 2.0, " s"), model.plan_.solver])
    return rows


def device_rows(n: int = 40_000) -> list[list[object]]:
    """A fit on a GPU with the choice of penalty, scale and rounds, beside one setting of xRFM."""
    import torch

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 2000, 10))
    y = np.sin(X[:, 0] + X[:, 1]) + np.abs(X[:, 2] - X[:, 3]) + 0.1 * rng.normal(size=n + 2000)
    y = (y - y.mean()) / y.std()
    RecursiveFeatureRegressor(random_state=0, device="cuda").fit(X[:n], y[:n])  # which compiles what is needed
    ours, seconds = timed(lambda: RecursiveFeatureRegressor(random_state=0, device="cuda").fit(X[:n], y[:n]))
    rows: list[list[object]] = [["mercer", f"{seconds:.1f} s", f"{rmse(ours, X[n:], y[n:]):.4f}"]]
    if importlib.util.find_spec("xrfm") is not None:
        fit_xrfm(X[:n], y[:n], "cuda")
        torch.cuda.synchronize()
        theirs, its = timed(lambda: fit_xrfm(X[:n], y[:n], "cuda"))
        error = rmse(theirs, X[n:].astype(np.float32), y[n:])
        rows.append(["xRFM, one setting", f"{its:.1f} s ({reach(seconds / its, 1.0, '×')})", f"{error:.4f}"])
    return rows


def main(part: int = 1) -> None:
    """All tables, with one of so many parts of the rows."""
    header = ["data", "rows", "model", "RMSE, unseen rows", "fit", "what was chosen"]
    table("Learned metrics, targets of deviation 1", header, metric_rows(part))
    header = ["rows", "fit", "for each 1,000 rows", "solver"]
    table("Time of a fit in a learned metric, pol", header, time_rows(part))
    if importlib.util.find_spec("torch") is not None:
        import torch

        if torch.cuda.is_available():
            table("Learned metrics on a GPU, 40,000 rows", ["", "fit", "RMSE, unseen rows"], device_rows())
    several.main(part)
    margins.main(part)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

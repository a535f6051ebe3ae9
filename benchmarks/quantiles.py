"""Quantile regression against quadratic programs, SVR and boosting: a part of the benchmark of losses."""

from collections.abc import Callable
from itertools import product

import numpy as np
from scipy.optimize import brentq
from scipy.sparse import csc_matrix, identity, vstack
from sklearn import svm as sklearn_svm
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.model_selection import GridSearchCV

from mercer.gram import Gram
from mercer.kernels import Gaussian, Laplacian
from mercer.models import KernelQuantileRegressor

from .measure import regression_split, table, timed, verdict

LEVELS = (0.05, 0.5, 0.95)
PATIENCE = 400.0  # seconds that a peer is expected to take at most; beyond, it is measured on fewer rows


def kin40k(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The first n training rows and all test rows, standardised, or made ones without data."""
    data = regression_split("kin40k")
    if data is None:
        print("kin40k: made rows instead, because MERCER_DATA does not name the data folder")
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n + 2000, 8))
        y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] / (1 + X[:, 3] ** 2) + 0.1 * rng.normal(size=len(X))
        y /= y.std()
        return X[:n], y[:n], X[n:], y[n:]
    X, y, X_test, y_test = data
    return X[:n], y[:n], X_test, y_test


def pinball(y: np.ndarray, predicted: np.ndarray, level: float) -> float:
    r = y - predicted
    return float(np.maximum(level * r, (level - 1) * r).mean())


def measure_gap(beta: np.ndarray, K: np.ndarray | Gram, y: np.ndarray, C: float, level: float) -> np.ndarray:
    """The gap of coefficients moved into their box and to a sum of 0, with the best intercept, and the primal value."""
    lower, upper = (level - 1) * C, level * C
    reach = float(np.abs(beta).max()) + C
    shift = brentq(lambda v: np.clip(beta - v, lower, upper).sum(), -reach, reach, xtol=1e-15)
    beta = np.clip(beta - shift, lower, upper)
    f = K @ beta
    square = beta @ f
    b = np.quantile(y - f, level, method="inverted_cdf")
    primal = 0.5 * square + C * len(y) * pinball(y, f + b, level)
    return np.array([primal - (y @ beta - 0.5 * square), primal])


def solve_osqp(K: np.ndarray, y: np.ndarray, C: float) -> list[np.ndarray]:
    """One factor for all levels, each from where the last one ended."""
    import osqp

    n, solver, found = len(y), osqp.OSQP(), []
    for level in LEVELS:
        ends = [np.append(np.full(n, end), 0.0) for end in ((level - 1) * C, level * C)]
        if found:
            solver.update(l=ends[0], u=ends[1])
        else:
            rows = csc_matrix(vstack([identity(n), np.ones((1, n))]))
            solver.setup(csc_matrix(np.triu(K)), -y, rows, *ends, eps_abs=1e-4, eps_rel=1e-4, max_iter=20_000,
                         verbose=False)  # fmt: skip
        found.append(np.array(solver.solve().x))
    return found


def solve_piqp(K: np.ndarray, y: np.ndarray, C: float) -> list[np.ndarray]:
    """An interior-point method with a dense factor in each step, which is what kernlab's kqr does."""
    import piqp

    n, found = len(y), []
    for level in LEVELS:
        solver = piqp.DenseSolver()
        solver.settings.eps_abs = solver.settings.eps_rel = 1e-4
        ends = np.full(n, (level - 1) * C), np.full(n, level * C)
        solver.setup(K, -y, np.ones((1, n)), np.zeros(1), None, None, None, *ends)
        solver.solve()
        found.append(np.array(solver.result.x))
    return found


def quadratic_rows(n: int, alpha: float = 0.05, length: float = 2.0) -> list[list[object]]:
    """All three levels; peers at a fifth and two fifths of the rows first, and at all of them unless it would be long.

    The kernel matrix is part of every time.
    """
    X, y, _, _ = kin40k(n)
    kernel, C = Gaussian(length), 1 / (2 * alpha)
    KernelQuantileRegressor(LEVELS, alpha, kernel=kernel).fit(X[:300], y[:300])  # so that first calls are not counted
    solvers: dict[str, Callable[..., list[np.ndarray]]] = {"OSQP": solve_osqp, "PIQP, dense": solve_piqp}
    rows: list[list[object]] = []
    past: dict[str, list[tuple[int, float]]] = {who: [] for who in solvers}
    for size in (n // 5, 2 * n // 5, n):
        X_part, y_part = X[:size], y[:size]
        model, ours = timed(lambda X=X_part, y=y_part: KernelQuantileRegressor(LEVELS, alpha, kernel=kernel).fit(X, y))
        rows.append([f"{size:,}", "mercer", f"{ours:.2f} s", "", f"{model.duality_gap_.relative:.0e}"])
        for who, solve in solvers.items():
            expected, growth = extrapolate(past[who], size)
            if expected > PATIENCE:
                ratio = f"{verdict(expected / ours, 20.0)}, extrapolated"
                rows.append([f"{size:,}", who, f"not run; {expected:.0f} s if it grows with n^{growth:.1f}", ratio, ""])
                continue
            try:
                found, seconds = timed(
                    lambda s=solve, X=X_part, y=y_part: s(Gram(kernel, X, dtype=np.float64).dense(), y, C)
                )
            except ImportError:
                rows.append([f"{size:,}", who, "skipped, because it is not installed", "", ""])
                continue
            past[who].append((size, seconds))
            ratio = verdict(seconds / ours, 20.0) if size == n else f"{seconds / ours:.1f}×"
            gram = Gram(kernel, X_part, dtype=np.float64)
            pairs = zip(found, LEVELS, strict=True)
            gap, primal = sum(measure_gap(beta, gram, y_part, C, level) for beta, level in pairs)
            rows.append([f"{size:,}", who, f"{seconds:.2f} s", ratio, f"{gap / primal:.0e}"])
    return rows


def extrapolate(past: list[tuple[int, float]], n: int) -> tuple[float, float]:
    """Seconds at n by the growth between the last two sizes, and the power; 0 where there are no two."""
    if len(past) < 2:
        return 0.0, 0.0
    (before, less), (last, more) = past[-2:]
    power = float(np.log(more / less) / np.log(last / before))
    return more * (n / last) ** power, power


def machine_rows(n: int, alpha: float = 0.05, length: float = 2.0) -> list[list[object]]:
    """Each level against SVR(epsilon=0), whose loss is twice that of level .5, at the gap that ours has reached."""
    X, y, _, _ = kin40k(n)
    kernel, C = Gaussian(length), 1 / (2 * alpha)
    gram = Gram(kernel, X, dtype=np.float64)
    times, gaps = [], []
    for tol in (0.1, 1e-2, 1e-3, 1e-4, 1e-5):
        peer = sklearn_svm.SVR(C=C / 2, epsilon=0.0, gamma=0.5 / length**2, tol=tol)
        peer, seconds = timed(lambda p=peer: p.fit(X, y))
        times.append(seconds)
        beta = np.zeros(n)
        beta[peer.support_] = peer.dual_coef_[0]
        gap, primal = measure_gap(beta, gram, y, C, 0.5)
        gaps.append(gap / primal)
    rows: list[list[object]] = [
        ["SVR(epsilon=0)", "", f"{seconds:.2f} s", f"{gap:.0e}", "", ""]
        for seconds, gap in zip(times, gaps, strict=True)
    ]
    order = np.argsort(gaps)
    for tol, level in product((1e-3, 1e-4), LEVELS):
        model = KernelQuantileRegressor(level, alpha, kernel=kernel, tol=tol)
        model.fit(X[:300], y[:300])
        model, seconds = timed(lambda m=model: m.fit(X, y))
        gap = model.duality_gap_.relative
        inside = "" if min(gaps) <= gap <= max(gaps) else ", outside of what was measured"
        other = float(np.exp(np.interp(np.log(gap), np.log(np.array(gaps)[order]), np.log(np.array(times)[order]))))
        rows.append([f"level {level}", f"{tol:.0e}", f"{seconds:.2f} s", f"{gap:.0e}", f"{other:.2f} s{inside}",
                     verdict(other / seconds, 3.0)])  # fmt: skip
    return rows


# -- quantiles on held-out rows ----------------------------------------------------------------------------------------


def held_out_rows(n: int, tuning: int) -> list[list[object]]:
    """Mean pinball loss on the first split's test rows, the target in units of its deviation."""
    rows: list[list[object]] = []
    for name in ("concrete", "energy", "airfoil", "pol", "kin40k"):
        data = regression_split(name)
        if data is None:
            print(f"{name}: skipped, because MERCER_DATA does not name the data folder")
            continue
        X, y, X_test, y_test = data
        order, scale = np.random.default_rng(0).permutation(len(y))[:n], np.sqrt(X.shape[1])
        X, y = X[order], y[order]
        kernels = [*(Gaussian(s * scale) for s in (0.5, 1.0, 2.0)), *(Laplacian(s * scale) for s in (1.0, 2.0, 4.0))]
        grid = {"kernel": kernels, "alpha": np.logspace(-5, -2, 4)}
        search = GridSearchCV(KernelQuantileRegressor(LEVELS, scaling="mean"), grid, cv=3, refit=False)
        search, tuned = timed(lambda s=search, X=X, y=y: s.fit(X[:tuning], y[:tuning]))
        model = KernelQuantileRegressor(LEVELS, scaling="mean", **search.best_params_)
        model, seconds = timed(lambda m=model, X=X, y=y: m.fit(X, y))
        columns = {"mercer": (model.predict(X_test), tuned + seconds)}
        for who, boost in {
            "GradientBoosting": lambda level: GradientBoostingRegressor(loss="quantile", alpha=level, random_state=0),
            "HistGradientBoosting": lambda level: HistGradientBoostingRegressor(
                loss="quantile", quantile=level, random_state=0
            ),
        }.items():
            fits, other = timed(lambda b=boost, X=X, y=y: [b(level).fit(X, y) for level in LEVELS])
            columns[who] = np.column_stack([fit.predict(X_test) for fit in fits]), other
        losses = {
            who: [pinball(y_test, f, level) for f, level in zip(found.T, LEVELS, strict=True)]
            for who, (found, _) in columns.items()
        }
        best = min(np.mean(loss) for who, loss in losses.items() if who != "mercer")
        for who, loss in losses.items():
            mean = float(np.mean(loss))
            note = "" if who != "mercer" else "no worse" if mean <= best else f"{mean / best - 1:.0%} worse, missed"
            rows.append([f"{name} {len(X):,} × {X.shape[1]}", who, *(f"{value:.4f}" for value in loss), f"{mean:.4f}",
                         note, f"{columns[who][1]:.1f} s"])  # fmt: skip
        kernel, alpha = search.best_params_["kernel"], search.best_params_["alpha"]
        print(f"{name}: {kernel!r}, alpha {alpha:.0e} (mean form), by 3 folds of {min(tuning, len(X)):,} rows")
    return rows


def show_quantiles(part: int = 1) -> None:
    """All tables, with one of so many parts of the rows."""
    n = 5000 // part
    header = ["rows", "solver", "three levels", "ratio to mercer", "relative gap"]
    table("Quantiles .05, .5 and .95 of kin40k, C = 10, length scale 2", header, quadratic_rows(n))
    header = ["model", "tol", "fit", "relative gap", "SVR at that gap", "ratio"]
    table(f"One level against scikit-learn's SVR(epsilon=0), {n:,} rows of kin40k", header, machine_rows(n))
    header = ["data", "model", *(f"pinball {level}" for level in LEVELS), "mean", "against the best", "time"]
    table("Quantiles on test rows, boosting at its defaults", header, held_out_rows(n, 1500 // part))

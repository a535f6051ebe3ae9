"""Kernel ridge regression against scikit-learn: exact fits, the path, the primal, Nyström, tuning, and growth."""

import math
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem as SklearnNystroem
from sklearn.kernel_ridge import KernelRidge as SklearnKernelRidge
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from mercer.expansion import Expansion
from mercer.gram import Gram
from mercer.kernels import Gaussian, Polynomial
from mercer.models import KernelRidge, KernelRidgeCV
from mercer.solvers import Banded, Nystroem, Problem

from .measure import peak_memory, regression_split, table, time_and_peak, timed, verdict


def relative_residual(model, X, y, alpha):
    """‖y − (K + αI)c‖ / ‖y‖, with K in float64."""
    gram = Gram(model.kernel_, X, dtype=np.float64)
    c = np.asarray(model.dual_coef_, dtype=float)
    return float(np.linalg.norm(y - gram @ c - alpha * c) / np.linalg.norm(y))


def exact_rows() -> list[list[str]]:
    rows = []
    rng = np.random.default_rng(0)
    X = rng.normal(size=(15_000, 18))
    synthetic = (X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=15_000))
    penalties, length = (1e-1, 1e-2, 1e-3), 4.0
    sets = [("normal 15,000 × 18", synthetic, alpha) for alpha in penalties]
    pol = regression_split("pol")
    if pol is not None:
        sets += [("pol 13,500 × 26", (pol[0], pol[1]), alpha) for alpha in penalties]
    kernel, gamma = Gaussian(length), 0.5 / length**2
    for name, (X, y), alpha in sets:
        ours, seconds = timed(lambda X=X, y=y, a=alpha, k=kernel: KernelRidge(a, kernel=k).fit(X, y))
        _, theirs = timed(
            lambda X=X, y=y, a=alpha, g=gamma: SklearnKernelRidge(alpha=a, kernel="rbf", gamma=g).fit(X, y)
        )
        setup = f"import numpy as np; X = np.random.default_rng(0).normal(size={X.shape}); y = X[:, 0]"
        memory = [
            peak_memory(
                setup + "\nfrom mercer.models import KernelRidge\nfrom mercer.kernels import Gaussian",
                f"KernelRidge({alpha}, kernel=Gaussian({length})).fit(X, y)",
            ),
            peak_memory(
                setup + "\nfrom sklearn.kernel_ridge import KernelRidge",
                f"KernelRidge(alpha={alpha}, kernel='rbf', gamma={gamma}).fit(X, y)",
            ),
        ]
        rows.append(
            [
                f"{name}, alpha {alpha:g}",
                f"{ours.plan_.solver}, {ours.n_iter_} iterations",
                f"{seconds:.2f} s",
                f"{theirs:.2f} s",
                verdict(theirs / seconds, 6.0),
                f"{relative_residual(ours, X, y, alpha):.0e}",
                " / ".join("?" if peak is None else f"{peak / 1e9:.2f}" for peak in memory) + " GB",
            ]
        )
    return rows


def kin40k_row() -> None:
    data = regression_split("kin40k")
    if data is None:
        print("kin40k: skipped, because MERCER_DATA does not name the data folder")
        return
    X, y, X_test, y_test = data
    model, seconds = timed(lambda: KernelRidge(1e-3, kernel=Gaussian(2.0)).fit(X, y))
    error = np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2))
    print(f"\nkin40k, exact fit of {len(X):,} rows, alpha 1e-3, length scale 2: {seconds:.0f} s (limit 120), ", end="")
    print(f"test RMSE {error:.4f} (.091), residual {model.residual_:.0e}, {model.plan_.solver}, ", end="", flush=True)
    peak = peak_memory(
        "import numpy as np; from mercer.models import KernelRidge; from mercer.kernels import Gaussian\n"
        "from benchmarks.measure import regression_split; X, y, _, _ = regression_split('kin40k')",
        "KernelRidge(1e-3, kernel=Gaussian(2.0)).fit(X, y)",
    )
    print("peak unknown" if peak is None else f"peak {peak / 1e9:.1f} GB (limit 8)", flush=True)
    nystroem_row(X, y, X_test, y_test)


def nystroem_row(X, y, X_test, y_test, centers: int = 2000) -> None:
    problem = Problem(Gaussian(2.0), X, y[:, None], fit_intercept=True)
    for selection in ("uniform", "rpcholesky"):
        solver = Nystroem(n_centers=centers, selection=selection, random_state=0)
        few = Problem(problem.kernel, X[:3000], y[:3000, None], fit_intercept=True)
        Nystroem(n_centers=100, selection=selection).prepare(few).solve(np.array([1e-3]))  # warms up
        found, seconds = timed(lambda s=solver: s.prepare(problem).solve(np.array([1e-3])))
        f = Expansion(problem.kernel, found.centers, found.coef[:, 0], found.intercept[0])
        ours = np.sqrt(np.mean((f(X_test) - y_test) ** 2))
        peer = make_pipeline(SklearnNystroem(gamma=0.125, n_components=centers, random_state=0), Ridge(1e-3))
        peer, peer_seconds = timed(lambda p=peer: p.fit(X, y))
        theirs = np.sqrt(np.mean((peer.predict(X_test) - y_test) ** 2))
        print(f"kin40k, {centers:,} Nyström centres, {selection}: {verdict(peer_seconds / seconds, 4.0)} ", end="")
        print(f"scikit-learn ({seconds:.1f} s and {peer_seconds:.1f} s), test RMSE {ours:.4f} and {theirs:.4f}")


def interrupt_row(solver: str = "cholesky", n: int = 12_000, tries: int = 4) -> None:
    """How long Ctrl-C waits in a fit, at the worst of some moments spread over it."""
    code = (
        "import time, numpy as np\nfrom mercer.kernels import Gaussian\nfrom mercer.models import KernelRidge\n"
        f"X = np.random.default_rng(0).normal(size=({n}, 8)); y = np.sin(X).sum(axis=1)\n"
        f"model = KernelRidge(0.1, kernel=Gaussian(2.0), solver={solver!r}).fit(X[:50], y[:50])\n"
        f"model, start = KernelRidge(0.1, kernel=Gaussian(2.0), solver={solver!r}), time.monotonic()\n"
        "print('ready', flush=True)\n"
        "try:\n    model.fit(X, y)\n    print('done', time.monotonic() - start)\n"
        "except KeyboardInterrupt:\n    print('stopped', time.monotonic(), hasattr(model, 'dual_coef_'))\n"
    )

    def run(after: float | None) -> tuple[str, float]:
        """What the process said last, and when it was interrupted."""
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        child.stdout.readline()
        sent = 0.0
        if after is not None:
            time.sleep(after)
            sent = time.monotonic()
            child.send_signal(signal.SIGINT)
        return child.communicate()[0], sent

    whole = float(run(None)[0].split()[1])
    waits = []
    for part in range(tries):
        said, seconds = "done", whole
        while said == "done":  # before it was interrupted, as a fit that is quicker than the first one is
            whole = min(whole, seconds)
            words, sent = run(whole * (part + 0.5) / tries)
            said, moment, *fitted = words.split()
            seconds = 0.9 * float(moment)
        waits += [float(moment) - sent] if fitted == ["False"] else [math.inf]
    print(f"Ctrl-C in a fit by the {solver} solver, n = {n:,}, {whole:.1f} s: ", end="")
    print(f"waits {max(waits):.2f} s at most of {tries} moments (limit 0.5)", flush=True)


def path_row() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 8))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=5000)
    alphas, scales = np.logspace(-3, 2, 20), np.logspace(0, 1, 10)

    def ours():
        for scale in scales:
            Banded().prepare(Problem(Gaussian(scale), X, y[:, None])).path(alphas, loo=True)

    def theirs():  # a tenth of the fits
        grid = {"alpha": alphas[::2], "gamma": 0.5 / scales[::5] ** 2}
        GridSearchCV(SklearnKernelRidge(kernel="rbf"), grid, cv=5, refit=False).fit(X, y)

    _, seconds = timed(ours)
    _, tenth = timed(theirs)
    print(f"\npath of 20 alphas × 10 length scales with LOO, n = 5,000: {verdict(10 * tenth / seconds, 15.0)} ", end="")
    print(f"GridSearchCV ({seconds:.1f} s, and ten times {tenth:.1f} s)")


def primal_row() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 20))
    y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=200_000)
    model, seconds = timed(lambda: KernelRidge(1.0, kernel=Polynomial(2, 1.0)).fit(X, y))
    peak = peak_memory(
        "import numpy as np; from mercer.models import KernelRidge; from mercer.kernels import Polynomial\n"
        "X = np.random.default_rng(0).normal(size=(200_000, 20)); y = X[:, 0]",
        "KernelRidge(1.0, kernel=Polynomial(2, 1.0)).fit(X, y)",
    )
    print(f"\npolynomial of degree 2, 200,000 × 20: {model.plan_.solver}, {seconds:.1f} s (limit 5), ", end="")
    print("peak unknown" if peak is None else f"peak {peak / 1e6:.0f} MB (limit 500)")


def tuning_rows(names=("concrete", "energy", "airfoil", "pol", "kin40k")) -> list[list[str]]:
    rows = []
    for name in names:
        data = regression_split(name)
        if data is None:
            print(f"{name}: skipped, because MERCER_DATA does not name the data folder")
            continue
        X, y, X_test, y_test = data
        model, seconds = timed(lambda X=X, y=y: KernelRidgeCV(random_state=0).fit(X, y))
        ours = np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2))
        theirs = ""
        if len(X) < 2000:
            grid = {"alpha": np.logspace(-4, 1, 11), "gamma": np.logspace(-3, 1, 13)}
            peer = GridSearchCV(SklearnKernelRidge(kernel="rbf"), grid, cv=5).fit(X, y)
            theirs = f"{np.sqrt(np.mean((peer.predict(X_test) - y_test) ** 2)):.4f}"
        limit = {"pol": ".073", "kin40k": ".075"}.get(name, "")
        rows.append([name, len(X), f"{ours:.4f}", limit, theirs, f"{seconds:.0f} s", type(model.kernel_).__name__])
    return rows


def growth_rows() -> list[list[str]]:
    """Seconds and peak memory of each solver as n doubles, and the slopes of their logarithms."""
    sizes = {
        "spectral": (1000, 2000, 4000),
        "cholesky": (4000, 8000, 16000),
        "cg": (8000, 16000, 32000),
        "nystroem": (20_000, 40_000, 80_000),
        "primal": (100_000, 200_000, 400_000),
    }
    rows = []
    for solver, counts in sizes.items():
        kernel = "Polynomial(2, 1.0)" if solver == "primal" else "Gaussian(3.0)"
        times, peaks = [], []
        for n in counts:
            setup = (
                "import numpy as np, time\nfrom mercer.models import KernelRidge\n"
                "from mercer.kernels import Gaussian, Polynomial\n"
                f"rng = np.random.default_rng(0); X = rng.normal(size=({n}, 8))\n"
                f"y = np.sin(X[:, 0]) + 0.1 * rng.normal(size={n})\n"
                f"model = KernelRidge(0.1, kernel={kernel}, solver={solver!r}, random_state=0)\n"
                "model.fit(X[:500], y[:500])"  # so that imports and first calls are not counted
            )
            seconds, peak = time_and_peak(setup, "model.fit(X, y)")
            times.append(seconds)
            peaks.append(peak)
        slopes = [np.polyfit(np.log(counts), np.log(values), 1)[0] for values in (times, peaks)]
        rows.append(
            [
                solver,
                ", ".join(f"{n:,}" for n in counts),
                ", ".join(f"{t:.2f}" for t in times),
                f"{slopes[0]:.1f}",
                ", ".join(f"{p / 1e6:.0f}" for p in peaks),
                f"{slopes[1]:.1f}",
            ]
        )
    return rows


def main() -> None:
    warnings.simplefilter("always", ConvergenceWarning)
    header = ["data", "solver", "mercer", "scikit-learn", "ratio", "residual", "peak memory, ours / theirs"]
    table("Exact kernel ridge", header, exact_rows())
    kin40k_row()
    path_row()
    interrupt_row()
    interrupt_row("spectral", 5000)
    primal_row()
    header = ["data", "rows", "RMSE", "limit", "tuned scikit-learn", "time", "kernel"]
    table("KernelRidgeCV() without arguments, first split, standardised", header, tuning_rows())
    table("Growth with n", ["solver", "n", "seconds", "slope", "peak MB", "slope"], growth_rows())

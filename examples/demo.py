"""A tour in half a minute: compose a kernel, see it proved, learn handwritten digits, words and more, and draw it."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import solve
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import mercer
from mercer import Expansion, Gram
from mercer.kernels import Gaussian, Polynomial, Spectrum


def heading(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m")


def proofs() -> None:
    heading("1. Kernels are an algebra, and compositions carry a proof")
    kernel = Gaussian(length_scale=2.0) + 0.5 * Polynomial(degree=2, offset=1.0)
    print(f"k = {kernel}\n")
    print(kernel.certificate().explain())
    heading("2. What is not a kernel is refuted, with points you can check by hand")
    print("k(x, z) = ‖x − z‖²\n")
    print(mercer.certify(lambda x, z: np.sum((x - z) ** 2), dim=1).explain())


def digits() -> tuple[Expansion, np.ndarray, np.ndarray]:
    heading("3. Handwritten digits: argmin Σ (y − f(x))² + α‖f‖², one linear system in the Gram matrix")
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X / 16.0, y, test_size=0.25, random_state=0, stratify=y)
    kernel = Gaussian(length_scale=1.5)
    K = Gram(kernel, X_train)
    targets, alpha = np.eye(10)[y_train], 1e-2
    coefficients = solve(K.dense() + alpha * np.eye(len(X_train)), targets, assume_a="pos")
    f = Expansion(kernel, X_train, coefficients)
    wrong = f(X_test).argmax(axis=1) != y_test
    print(f"{K}\n{f}")
    print(f"{len(y_test)} test digits, {wrong.sum()} wrong: accuracy {1 - wrong.mean():.3f}")
    print(f"‖f‖ for each digit: {np.round(f.norm(), 1)}")
    return f, np.asarray(X_test), np.asarray(y_test)


def speed() -> None:
    heading("4. A Gram matrix too large to store is still an operator")
    rng = np.random.default_rng(0)
    n = 40_000
    X = rng.normal(size=(n, 8)).astype(np.float32)
    kernel = Gaussian(length_scale=3.0) + 0.1 * Polynomial(degree=2)
    gram = Gram(kernel, X, memory="200MB")
    start = time.perf_counter()
    gram @ rng.normal(size=n).astype(np.float32)
    seconds = time.perf_counter() - start
    print(f"{gram}\nstored it would take {n * n * 4 / 1e9:.1f} GB; the product took {seconds:.2f} s within 200 MB,")
    print(f"{n * n / seconds:.1e} entries a second ({gram.why})")


def learners() -> None:
    heading("5. Learners that say how well they solved their problem")
    X, y = load_digits(return_X_y=True)
    parts = train_test_split(X / 16.0, y, test_size=0.25, random_state=0, stratify=y)
    X_train, X_test, y_train, y_test = parts
    kernel = Gaussian(length_scale=1.5)
    evidence: dict[Any, Callable[[Any], str]] = {
        mercer.SVC(C=10.0, kernel=kernel): lambda m: f"duality gap {m.duality_gap_.relative:.1e} of the objective",
        mercer.KernelRidgeClassifier(kernel=kernel): lambda m: f"leave-one-out accuracy {m.loo_accuracy_:.3f}",
        mercer.KernelLogisticRegression(0.01, kernel=kernel, tol=1e-6): lambda m: (
            f"duality gap {m.duality_gap_.absolute:.1e}"
        ),
        mercer.KernelNeighborsClassifier(kernel=kernel): lambda m: "nothing to solve",
    }
    for model, says in evidence.items():
        start = time.perf_counter()
        model.fit(X_train, y_train)
        seconds = time.perf_counter() - start
        name = type(model).__name__
        print(f"{name:26} accuracy {model.score(X_test, y_test):.3f}, fitted in {seconds:.2f} s, {says(model)}")


def words() -> None:
    heading("6. Kernels need no vectors: which language is a number word from?")
    languages = {
        "English": "one two three four five six seven eight nine ten eleven twelve",
        "German": "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "Italian": "uno due tre quattro cinque sei sette otto nove dieci undici dodici",
    }
    known = [(word, language) for language, text in languages.items() for word in text.split()]
    kernel = Spectrum(3, shortest=1).normalize()
    model = mercer.SVC(C=10.0, kernel=kernel).fit([word for word, _ in known], [language for _, language in known])
    new = ["thirteen", "dreizehn", "tredici", "seventeen", "siebzehn", "diciassette"]
    print(", ".join(f"{word}: {language}" for word, language in zip(new, model.predict(new), strict=True)))


def picture(f: Expansion, X: np.ndarray, y: np.ndarray) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    scores = f(X)
    guess = scores.argmax(axis=1)
    order = np.argsort(np.sort(scores, axis=1)[:, -1] - np.sort(scores, axis=1)[:, -2])
    figure, axes = plt.subplots(2, 8, figsize=(9, 2.9), layout="constrained")
    for axis, i in zip(axes.flat, [*order[:8], *order[-8:]], strict=True):
        axis.imshow(X[i].reshape(8, 8), cmap="Greys")
        axis.set_title(f"{guess[i]}" + ("" if guess[i] == y[i] else f" (is {y[i]})"), fontsize=10)
        axis.set_xticks([])
        axis.set_yticks([])
    axes[0, 0].set_ylabel("least sure")
    axes[1, 0].set_ylabel("most sure")
    path = Path(__file__).with_name("demo.png")
    figure.savefig(path, dpi=120)
    print(f"\nThe digits it is least and most sure of are drawn in {path}")


if __name__ == "__main__":
    proofs()
    model, X_test, y_test = digits()
    speed()
    learners()
    words()
    picture(model, X_test, y_test)

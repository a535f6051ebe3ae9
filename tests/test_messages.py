"""What people are told who write what they know from elsewhere, or a class where a kernel belongs."""

import ast
import re
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import kernels
from mercer.features import Nystroem
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, PairSum, Polynomial
from mercer.messages import KERNELS, MODELS

X = np.random.default_rng(0).normal(size=(12, 3))
Y, LABELS = X[:, 0], (X[:, 0] > 0).astype(int)
TAKES_A_KERNEL = {
    **{
        name: lambda kernel, name=name: getattr(mercer, name)(kernel=kernel).fit(X, LABELS)
        for name in mercer.models.__all__
        if not name.startswith("Multiple")
    },
    "AutoRegressor": lambda kernel: mercer.AutoRegressor(kernel=kernel).fit(X, Y),
    "KernelRidgeCV with several": lambda kernel: mercer.KernelRidgeCV(kernel=[Linear(), kernel]).fit(X, Y),
    "KernelRegressorCV with several": lambda kernel: mercer.KernelRegressorCV(kernel=[kernel]).fit(X, Y),
    "SVC with several": lambda kernel: mercer.SVC(kernel=[kernel, Linear()], weights="average").fit(X, LABELS),
    "MultipleKernelRidge": lambda kernel: mercer.MultipleKernelRidge(kernels=[kernel, Linear()]).fit(X, Y),
    "Nystroem": lambda kernel: Nystroem(kernel).fit(X),
    "Gram": lambda kernel: mercer.Gram(kernel, X),
    "Expansion": lambda kernel: mercer.Expansion(kernel, X, Y),
    "certify": mercer.certify,
    "plan": lambda kernel: mercer.plan(kernel, n=100, d=3),
    "sum": lambda kernel: Linear() + kernel,
    "sum from the left": lambda kernel: kernel + Linear(),
    "difference": lambda kernel: Linear() - kernel,
    "product": lambda kernel: Linear() * kernel,
    "exp": kernels.exp,
    "a kernel inside": PairSum,
}


@pytest.mark.parametrize("place", TAKES_A_KERNEL)
def test_a_class_in_the_place_of_a_kernel_is_asked_about(place):
    with pytest.raises((TypeError, ValueError), match=r"the class Matern.*: did you mean Matern\(\)\?"):
        TAKES_A_KERNEL[place](Matern)


def test_a_class_that_needs_parameters_is_shown_with_them():
    with pytest.raises(TypeError, match=r"did you mean PairSum\(base=…\)\?"):
        mercer.Gram(PairSum, X)


@pytest.mark.parametrize(
    ("kernel", "says"),
    [
        ("rbf2", "did you mean 'rbf'?"),
        ("Gaussian(2)", "did you mean Gaussian(length_scale=2), without quotes"),
        ("gausian(1)", "did you mean Gaussian?"),
        ("squared_exponential", "did you mean Gaussian? exp(−γ‖x − z‖²) is Gaussian.from_gamma(γ)"),
        (None, "or one of 'additive_chi2', 'chi2', "),
    ],
)
def test_a_model_says_which_kernel_a_text_may_have_meant(kernel, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        mercer.KernelRidge(kernel=kernel).fit(X, Y)


@pytest.mark.parametrize(
    ("module", "name", "says"),
    [
        (mercer, "KernelRige", "did you mean KernelRidge?"),
        (mercer, "SVR2", "did you mean SVR?"),
        (mercer, "KRR", "did you mean KernelRidge?"),
        (mercer, "SVM", "did you mean SVC, for classes, or SVR, for numbers?"),
        (mercer, "Gaussian", "did you mean mercer.kernels.Gaussian?"),
        (mercer, "Huber", "did you mean mercer.losses.Huber?"),
        (mercer, "RBF", "did you mean Gaussian? .*σ = 1/√(2γ). Kernels are in mercer.kernels"),
        (mercer, "zebra", "dir(mercer) lists what there is"),
        (mercer, "parse", "dir(mercer) lists what there is"),
        (kernels, "RBF", "did you mean Gaussian? .*σ = 1/√(2γ)"),
        (kernels, "rbf_kernel", "did you mean Gaussian?"),
        (kernels, "SquaredExponential", "did you mean Gaussian?"),
        (kernels, "Matern52Kernel", "did you mean Matern(nu=2.5)?"),
        (kernels, "from_gamma", "did you mean Gaussian.from_gamma?"),
        (kernels, "linear_kernel", "did you mean Linear?"),
        (kernels, "Cos", "did you mean Cosine?"),
        (mercer.losses, "MSE", "did you mean Squared?"),
        (mercer.models, "KRR", "did you mean KernelRidge?"),
        (mercer.features, "RBFSampler", "did you mean mercer.features.RandomFourier?"),
        (kernels, "zebra", "dir(mercer.kernels) lists what there is"),
    ],
)
def test_names_of_elsewhere_lead_to_ours_however_they_are_reached(module, name, says):
    pattern = re.escape(says).replace(re.escape(".*"), ".*")
    with pytest.raises(AttributeError, match=pattern):
        getattr(module, name)
    with pytest.raises(ImportError, match=pattern):
        exec(f"from {module.__name__} import {name}")
    assert not hasattr(module, name)


def test_every_answer_names_something_that_there_is():
    there = {*mercer.__all__, *kernels.__all__, "mercer.features.Nystroem", "mercer.features.RandomFourier"}
    for others in (KERNELS, MODELS):
        for answer in set(others.values()):
            if not answer.startswith(("a ", "alpha")):
                first = re.match(r"[\w.]+", answer)[0].removesuffix(".from_gamma").removesuffix(".normalize")
                assert first in there, answer


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Gaussian(sigma=1), "did you mean length_scale? It is the σ of exp(−‖x − z‖²/2σ²)"),
        (lambda: Gaussian(gamma=1), "is Gaussian.from_gamma(γ), whose length_scale is σ = 1/√(2γ)"),
        (lambda: Laplacian(gamma=1), "is Laplacian.from_gamma(γ), whose length_scale is σ = 1/γ"),
        (lambda: Polynomial(coef0=1), "it has ['degree', 'offset']: did you mean offset?"),
        (lambda: Matern(smoothness=1), "did you mean nu?"),
        (lambda: Gaussian().with_params(sigma=1), "did you mean length_scale?"),
        (lambda: mercer.losses.Huber(delta=1), "did you mean width?"),
        (lambda: mercer.KernelRidge(C=1), "KernelRidge has no parameter 'C': did you mean alpha? Σ loss + α‖f‖²"),
        (lambda: mercer.SVC(alpha=1), "did you mean C? Σ loss + α‖f‖² is ½‖f‖² + C Σ loss for α = 1/(2C)"),
        (lambda: mercer.SVC(nu=0.1), "did you mean NuSVC or NuSVR"),
        (lambda: mercer.SVC(c=1), "SVC has no parameter 'c': did you mean C?; it has C, "),
        (lambda: mercer.KernelLogisticRegression(gamma=1), "did you mean kernel=Gaussian.from_gamma(γ)?"),
        (lambda: mercer.SVC(kernal="rbf"), "did you mean kernel?"),
        (lambda: mercer.KernelRidge().set_params(sigma=1), "did you mean kernel=Gaussian(length_scale=σ)?"),
        (lambda: mercer.KernelRidge(kernel=Gaussian()).set_params(kernel__sigma=1), "did you mean length_scale?"),
        (lambda: mercer.KernelRidge().set_params(kernal__length_scale=1), "did you mean kernel?"),
    ],
)
def test_parameters_of_elsewhere_lead_to_ours(make, says):
    with pytest.raises((TypeError, ValueError), match=re.escape(says)):
        make()


def test_the_conversions_that_are_told_are_right():
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

    gamma, C = 0.7, 3.0
    np.testing.assert_allclose(Gaussian(1 / np.sqrt(2 * gamma))(X), rbf_kernel(X, gamma=gamma))
    np.testing.assert_allclose(Laplacian.from_gamma(gamma)(X), laplacian_kernel(X, gamma=gamma))
    ours = mercer.KernelLogisticRegression(alpha=1 / (2 * C), kernel=Linear(), tol=1e-10).fit(X, LABELS)
    theirs = LogisticRegression(C=C, tol=1e-10, max_iter=1000).fit(X, LABELS)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-4)


def test_a_model_of_ones_own_may_have_parameters_of_its_own():
    class Mine(mercer.KernelRidge):
        def __init__(self, C=1.0, **others):
            super().__init__(**others)
            self.C = C

    assert Mine(C=2.0, alpha=0.5).C == 2.0


def test_the_answer_to_data_in_the_place_of_a_parameter_is_short():
    with pytest.raises(ValueError, match=r"got an array of shape \(12, 3\); .* as in Gaussian\(\)\(X\)$"):
        Gaussian(X)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (["abc", "abd"], "Strings are compared by Spectrum()"),
        (np.array([["abc"], ["abd"]]), "Strings are compared by Spectrum()"),
        (["(S (NP x))", "(S (NP y))"], "Trees are compared by SubsetTree()"),
        ([kernels.Graph([[1], [0]]), kernels.Graph([[1], [0]])], "Graphs are compared by WeisfeilerLehman()"),
        ([["1.5"], ["2.0"]], "become numbers by X.astype(float)"),
        ([[1.0, 2.0], [1.0]], "series of numbers by GlobalAlignment()"),
        ([{1: 2}, {}], "Objects of any kind are compared by Custom(function)"),
    ],
)
def test_data_that_is_no_table_of_numbers_is_told_its_kernels(data, says):
    with pytest.raises((TypeError, ValueError), match=re.escape(says)):
        Gaussian()(data)


@pytest.mark.parametrize(
    "model", [mercer.KernelRidge(), mercer.SVR(), mercer.KernelRidgeCV(), mercer.KernelRegressor()]
)
def test_models_tell_it_too(model):
    with pytest.raises(
        ValueError, match=r"needs numbers, but row 0, column 0 is 'ab'\. Strings are compared by Spectr"
    ):
        model.fit(["ab", "ba"], [1.0, 2.0])


@pytest.mark.parametrize("kernel", [kernels.Spectrum(2), kernels.Edit(), kernels.SubsetTree(), kernels.ShortestPath()])
def test_kernels_on_objects_tell_rows_of_numbers_where_they_belong(kernel):
    with pytest.raises(TypeError, match=r"Rows of numbers are compared by Gaussian\(\)"):
        kernel(X)


def test_whole_numbers_are_tokens_however_they_are_stored():
    tokens = np.array([[1, 2, 1, 2], [2, 1, 2, 2]])
    np.testing.assert_array_equal(kernels.Spectrum(2)(tokens), kernels.Spectrum(2)(tokens.astype(float)))


HOLES = X.copy()
HOLES[[1, 2, 2, 4], [1, 1, 0, 2]] = np.nan, np.inf, np.nan, -np.inf
COUNTED = "row 1, column 'b' is nan; columns 'a' (1 row), 'b' (2 rows) and 'c' (1 row) have such values"


@pytest.mark.parametrize(
    ("model", "instead"),
    [
        (
            mercer.KernelRidge(),
            "make_pipeline(SimpleImputer(), KernelRidge()), drop their rows, or use mercer.AutoRegr",
        ),
        (mercer.KernelRidgeCV(), "or use mercer.AutoRegressor, which takes missing values as they are."),
        (mercer.RecursiveFeatureRegressor(), "or use mercer.AutoRegressor, "),
        (mercer.SVC(), "or use mercer.AutoClassifier, "),
        (mercer.KernelPCA(), "make_pipeline(SimpleImputer(), KernelPCA()), or drop their rows."),
        (Nystroem(), "make_pipeline(SimpleImputer(), Nystroem()), or drop their rows."),
        (Gaussian().on(slice(0, 3)), "or give the table to mercer.AutoRegressor or AutoClassifier"),
    ],
)
def test_missing_and_infinite_numbers_are_told_by_column_and_with_what_to_do(model, instead):
    frame = pd.DataFrame(HOLES, columns=["a", "b", "c"])
    fit = model if isinstance(model, kernels.Kernel) else lambda table: model.fit(table, LABELS)
    with pytest.raises(ValueError, match=re.escape(COUNTED) + r"\. .*" + re.escape(instead)):
        fit(frame)
    with pytest.raises(
        ValueError, match=re.escape(COUNTED.replace("'a'", "0").replace("'b'", "1").replace("'c'", "2"))
    ):
        fit(HOLES)


def test_of_many_columns_a_few_are_named_and_the_others_counted():
    with pytest.raises(
        ValueError, match=r"columns 0 \(1 row\), 1 \(1 row\), 2 \(1 row\), 3 \(1 row\) and 16 others have"
    ):
        Gaussian()(np.full((1, 20), np.nan))
    with pytest.raises(ValueError, match=r"row 0, column 1 is inf; column 1 \(2 rows\) has such values"):
        mercer.KernelRidge(kernel=Linear()).fit(sparse.csr_array([[1.0, np.inf], [0.0, np.nan]]), [0.0, 1.0])


# -- warnings --------------------------------------------------------------------------------------------------------

HARD = (np.arange(30) % 2).astype(int)
POINTS = np.random.default_rng(1).normal(size=(30, 2))
STUBBORN = mercer.KernelPerceptron(kind="plain", kernel=Linear(), max_iter=1)
WARNS = {
    "a fit": lambda: clone(STUBBORN).fit(POINTS, HARD),
    "a fit in a pipeline": lambda: make_pipeline(StandardScaler(), clone(STUBBORN)).fit(POINTS, HARD),
    "fits of a grid": lambda: GridSearchCV(STUBBORN, {"max_iter": [1, 2]}, cv=2).fit(POINTS, HARD),
    "fits of cross-validation": lambda: cross_val_score(STUBBORN, POINTS, HARD, cv=2),
    "a transformer in a pipeline": lambda: make_pipeline(StandardScaler(), Nystroem(n_components=99)).fit(POINTS),
    "a machine": lambda: mercer.SVC(max_iter=3).fit(POINTS, HARD),
    "machines of a search": lambda: mercer.SVCCV([1.0], [1.0], max_iter=2, cv=2, refit=False).fit(POINTS, HARD),
    "a solver, by way of a model": lambda: mercer.KernelLogisticRegression(0.01, max_iter=1).fit(POINTS, HARD),
    "components": lambda: mercer.KernelPCA(20, eigen_solver="nystroem", n_centers=5).fit(POINTS[:, :1]),
    "a prediction": lambda: mercer.ParzenRegressor("uniform", length_scale=0.1).fit(POINTS, HARD).predict(POINTS + 9.0),
}


@pytest.mark.parametrize("asked", WARNS)
def test_a_warning_is_at_the_line_of_whoever_asked(asked):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        WARNS[asked]()
    assert heard
    for warning in heard:
        assert warning.filename == __file__, warning
        assert warning.lineno == WARNS[asked].__code__.co_firstlineno


def test_every_warning_goes_through_one_function():
    found = []
    for path in Path(mercer.__file__).parent.rglob("*.py"):
        text = path.read_text()
        if re.search(r"\bwarn\(|import warn\b|stacklevel", text):  # perhaps in an example only
            calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
            found += [path.name for call in calls if ast.unparse(call.func) in ("warn", "warnings.warn")]
    assert found == ["messages.py"]


def test_an_error_of_a_function_of_ones_own_is_the_cause_of_what_a_model_says():
    def fail(row):
        raise KeyError("mine")

    with pytest.raises(ValueError, match="the function raised KeyError") as caught:
        mercer.KernelRidge(kernel=Linear().after(fail)).fit(POINTS, HARD)
    assert traceback.extract_tb(caught.value.__cause__.__traceback__)[-1].name == "fail"


@pytest.mark.parametrize(
    ("y", "says"),
    [
        (
            [*Y[:-1], np.nan],
            "Input y contains NaN. KernelRidge learns from finite targets only: leave out row 11",
        ),
        ([*Y[:4], *[np.inf] * 8], "leave out rows 4, 5, 6, 7, 8 and 3 others, in X and in y"),
        (["ham", "spam"] * 6, "Labels of classes are for classifiers such as SVC"),
    ],
)
def test_targets_that_are_no_numbers_are_told_by_row_and_with_what_to_do(y, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        mercer.KernelRidge().fit(X, y)

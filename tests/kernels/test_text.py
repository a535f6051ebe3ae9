"""Kernels from text: round trips of random expressions, the whole language, and everything that must be refused."""

import math
import pickle
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mercer.kernels as mk
from mercer.formula.syntax import ExpressionError
from mercer.kernels import Constant, Gaussian, Linear, Matern, Polynomial, exp
from mercer.kernels.functions import parse_expression
from mercer.kernels.text import parse_kernel

positive = st.floats(1e-6, 1e6)
scales = positive | st.lists(positive, min_size=1, max_size=4) | st.tuples(positive, positive)
whole = st.integers(1, 9)
text_columns = st.text(min_size=1, max_size=8)
columns = (
    st.integers(-5, 50)
    | text_columns
    | st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True)
    | st.lists(text_columns, min_size=1, max_size=3, unique=True)
    | st.builds(slice, st.integers(1, 9))
)
entries = st.floats(-1e9, 1e9)
linear_maps = st.lists(st.tuples(entries, entries), min_size=1, max_size=4).map(mk.LinearMap)
PARAMETERS = {
    "Linear": (),
    "Sinc": (),
    "Overlap": (),
    "Intersection": (),
    "ShortestPath": (st.booleans(),),
    "Graphlet": (st.sampled_from([3, 4]), st.booleans()),
    "Propagation": (whole, positive, st.booleans(), whole, st.sampled_from([1, 2]), whole),
    "HashedWeisfeilerLehman": (whole, positive, whole, whole),
    "Polynomial": (whole, positive | st.just(0)),
    "Sigmoid": (positive, st.floats(-5, 5)),
    "Gaussian": (scales,),
    "Laplacian": (scales,),
    "Matern": (positive | st.just(math.inf), scales),
    "RationalQuadratic": (scales, positive),
    "PowerExponential": (st.floats(1.0, 2.0), st.floats(0.01, 1.0), scales),
    "Periodic": (scales, positive),
    "Cosine": (positive,),
    "Fourier": (whole,),
    "Constant": (positive,),
    "Chi2": (positive,),
    "Hellinger": (),
    "Tanimoto": (),
    "MinMax": (),
    "BitSimilarity": (st.sampled_from(["dice", "forbes"]),),
    "Tversky": (st.just(0.7), st.just(0.7)),
    "ArcCosine": (st.integers(0, 2),),
    "Geodesic": (positive, positive),
    "Wendland": (whole, st.integers(0, 3), scales),
    "Wiener": (),
    "Spline": (),
    "FractionalBrownian": (st.floats(0.1, 1.0),),
    "White": (),
    "WeightedLinear": (scales,),
    "Anova": (whole, positive),
    "SpectralMixture": (st.just([1.0, 2.0]), st.lists(positive, min_size=2, max_size=2), st.just([0.5, 3.0])),
    "Spectrum": (whole, st.none() | st.just(1)),
    "GappedKmer": (st.integers(4, 9), st.integers(0, 3)),
    "Mismatch": (st.integers(4, 9), st.integers(0, 3), st.sampled_from(["ACGT", "a'\"b\\", ["x", "y"]])),
    "Subsequence": (whole, st.floats(0.1, 1)),
    "WeightedDegree": (whole, st.integers(0, 3), st.sampled_from(["", "N"]), st.sampled_from(["refuse", "own"])),
    "LocalAlignment": (
        st.just([[2.0, -1.0], [-1.0, 2.0]]),
        st.just("ab"),
        st.floats(1, 9),
        st.floats(0, 1),
        st.floats(0.1, 1),
        st.booleans(),
    ),
    "Fisher": (st.just(1), st.just("ab"), st.none() | st.just([[0.25, 0.75], [0.5, 0.5]])),
    "Edit": (positive,),
    "Subtree": (st.floats(0.1, 1), st.booleans()),
    "SubsetTree": (st.floats(0.1, 1), st.booleans()),
    "PartialTree": (st.floats(0.1, 0.9), st.floats(0.1, 0.9), positive),
    "WeisfeilerLehman": (whole,),
    "WeisfeilerLehmanAssignment": (whole,),
    "RandomWalk": (st.floats(0.001, 0.1),),
    "DTW": (scales, st.none() | whole),
    "GlobalAlignment": (scales,),
    "Coregionalization": (positive.map(lambda value: [[value, 0], [0, 1]]), st.none() | st.just(["a", "b"])),
    "SoftDTW": (positive, positive),
    "Precomputed": (positive.map(lambda value: [[value, 1], [1, -value]]),),
}
LEAVES = st.one_of([st.builds(getattr(mk, name), *strategies) for name, strategies in PARAMETERS.items()])
numbers = st.floats(-1e6, 1e6).filter(lambda value: abs(value) > 1e-6)


def _compositions(inner):
    return st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a - b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda a, n: n * a, inner, numbers),
        st.builds(lambda a, n: a + n, inner, numbers),
        st.builds(lambda a, n: n - a, inner, numbers),
        st.builds(lambda a, n: a / n, inner, numbers),
        st.builds(lambda a, p: a**p, inner, st.integers(1, 3)),
        st.builds(exp, inner),
        st.builds(lambda a: a.normalize(), inner),
        st.builds(lambda a, c: a.on(c), inner, columns),
        st.builds(lambda a, R: a.after(R), inner, linear_maps),
        st.builds(mk.PairSum, inner),
        st.builds(mk.MeanEmbedding, inner),
        st.builds(mk.Signature, inner, st.integers(1, 16)),
        st.builds(mk.TruncatedSignature, st.integers(3, 16), inner, st.none() | st.integers(1, 3)),
    )


kernels = st.recursive(LEAVES, _compositions, max_leaves=10)


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(kernels)
def test_the_text_of_a_kernel_is_read_back_as_an_equal_kernel(kernel):
    again = parse_kernel(repr(kernel))
    assert again == kernel
    assert repr(again) == repr(kernel)
    assert parse_expression(repr(kernel)) == kernel


def test_the_strategy_above_forgets_no_kernel_with_plain_parameters():
    hold_functions = {"Custom", "FromFeatures"}
    hold_kernels = {"PairSum", "MeanEmbedding", "Signature", "TruncatedSignature"}
    hold_kernels |= {"GraphHopper", "ShortestPathLengths"}
    hold_graphs = {"Diffusion", "RegularizedLaplacian"}
    no_kernels = {"Kernel", "LinearMap", "ObjectKernel", "Graph", "exp"}
    assert set(PARAMETERS) == set(mk.__all__) - hold_functions - hold_kernels - hold_graphs - no_kernels


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("2*Gaussian(1)+Polynomial(2,1)", 2 * Gaussian(1) + Polynomial(2, 1)),
        ("gaussian", Gaussian()),
        ("Gaussian", Gaussian()),
        ("rational_quadratic", mk.RationalQuadratic()),
        ("gaussian(2)", Gaussian(2)),
        ("matern(nu=inf)", Matern(math.inf)),
        ("Gaussian.from_gamma(0.5)", Gaussian.from_gamma(0.5)),
        ("Gaussian.from_gamma(gamma=2)", Gaussian.from_gamma(2)),
        ("exp(Linear())", exp(Linear())),
        ("exp(1) * Linear()", math.e * Linear()),
        ("2*pi/3 * linear", 2 * math.pi / 3 * Linear()),
        ("Linear() + 1", Linear() + 1),
        ("1 - Linear()", 1 - Linear()),
        ("-Linear()", -Linear()),
        ("+Linear()", Linear()),
        ("Linear()**2", Linear() ** 2),
        ("Polynomial(2**3)", Polynomial(8)),
        ("Linear().on([0, 3])", Linear().on([0, 3])),
        ("Linear().on('age')", Linear().on("age")),
        ('Linear().on(["a", "b"])', Linear().on(["a", "b"])),
        ("Linear().on(columns=0)", Linear().on(0)),
        ("Linear().on(slice(1, 3))", Linear().on(slice(1, 3))),
        ("(gaussian + linear).normalize()", (Gaussian() + Linear()).normalize()),
        ("Gaussian(length_scale=[1, 2.5])", Gaussian([1, 2.5])),
        ("Spectrum(3, shortest=1)", mk.Spectrum(3, 1)),
        ("PairSum(gaussian)", mk.PairSum(Gaussian())),
        ("  Gaussian(\n 1\t) ", Gaussian(1)),
        ("Constant(2)", Constant(2)),
    ],
)
def test_the_language(text, kernel):
    assert parse_kernel(text) == kernel


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("Gausian(1)", 1, "Gausian: did you mean Gaussian"),
        ("2*Gausian(1)", 3, "Gausian: did you mean Gaussian"),
        ("Linear() + é", 12, "é is no kernel"),
        ("'é' + Gausian", 1, "'é' is not a number"),
        ("Linear().on('éé') + lin", 21, "did you mean Linear"),
        ("rbf", 1, "did you mean Gaussian"),
        ("norm(3)", 1, "norm is for functions of x and z"),
        ("x + Gaussian()", 1, "only in a function of x and z"),
        ("2", 1, "the constant kernel is written Constant"),
        ("Gaussian(sigma=2)", 1, "no parameter 'sigma'; it has ['length_scale']: did you mean length_scale?"),
        ("Gaussian(lenght_scale=2)", 1, "did you mean length_scale"),
        ("Linear(2)", 1, "it has none"),
        ("Gaussian(1, 2)", 1, "got 2 parameters"),
        ("Gaussian(1, length_scale=2)", 1, "length_scale twice"),
        ("Linear() + Gaussian(-1)", 12, "must be a positive finite number, got -1"),
        ("Linear()**0.5", 1, "whole number of at least 1"),
        ("2**Linear()", 1, "exp"),
        ("1/Linear()", 1, "only a number can stand below"),
        ("Linear()/0", 1, "by 0"),
        ("Linear()*(1/0)", 11, "division by zero"),
        ("Linear()^2", 1, "a power is written"),
        ("Linear() < 2", 1, "a comparison"),
        ("Linear().foo()", 10, "normalize"),
        ("Linear().normalise()", 10, "did you mean normalize"),
        ("Linear().normalize", 10, "write k.normalize"),
        ("Linear().after(abs)", 10, "Python function"),
        ("Linear().on()", 10, "columns"),
        ("Linear().on([0, 0])", 10, "more than once"),
        ("Linear.from_gamma(1)", 1, "Linear has no from_gamma"),
        ("Gaussian.from_gamma(linear)", 1, "takes a number"),
        ("(2).normalize()", 5, "is a number"),
        ("Custom(1)", 1, "Python function"),
        ("FromFeatures(1)", 1, "Python function"),
        ("PairSum", 1, "needs base"),
        ("Kernel()", 1, "Kernel"),
        ("Graph([[1], [0]])", 1, "is data"),
        ("exp", 1, "in parentheses"),
        ("exp(1000)*Linear()", 1, "too large"),
        ("Matern(nu=float('nan'))", 11, "float"),
        ("pi(2)", 1, "write *"),
        ("Gaussian(*[1])", 10, "starred"),
        ("Gaussian(**{})", 10, "starred"),
        ("2*(3", 3, "never closed"),
        ("Gaussian(1)) ", 12, "unmatched"),
        ("Gaussian()()", 1, "only names can be called"),
        ("{}", 1, "dictionary"),
        ("lambda: 1", 1, "lambda"),
    ],
)
def test_an_error_is_one_line_that_says_what_and_where(text, column, says):
    with pytest.raises(ExpressionError) as caught:
        parse_kernel(text)
    assert says in str(caught.value)
    assert f"at column {column}:" in str(caught.value)
    assert caught.value.column == column
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_nothing_is_no_kernel(text):
    with pytest.raises(ExpressionError, match="the expression is empty"):
        parse_kernel(text)


def test_only_text_is_read():
    with pytest.raises(TypeError, match="an expression is a text, got int"):
        parse_kernel(3)


HOSTILE = {
    "a tower": "9**9**9*Linear()",
    "a tall tower": "9**" * 90 + "9",
    "a power of a power": "((Linear()**100)**100)**100",
    "a power": "Linear()**1000000000",
    "an order": "Fourier(10**9)",
    "a degree": "Polynomial(degree=1e12)",
    "many gaps": "GappedKmer(60, 30)",
    "many mismatches": "Mismatch(60, 30)",
    "a slice": "Linear().on(slice(0, 10**12))",
    "open parentheses": "(" * 19000,
    "parentheses": "(" * 9000 + "1" + ")" * 9000,
    "brackets": "Linear().on(" + "[" * 150 + "]" * 150 + ")",
    "signs": "-" * 19000 + "1",
    "powers": "1**" * 6000 + "1",
    "terms": "Linear()+" * 2000 + "Linear()",
    "methods": "Linear()" + ".normalize()" * 1500,
    "negations": "not " * 4000 + "1",
    "a long number": "1" * 5000,
    "a hexadecimal number": "0x" + "f" * 19000,
    "a long text": '"' + "a" * 10**7 + '"',
    "a repeated text": "'ab' * 10**9",
    "a repeated list": "Linear().on([0] * 10**9)",
    "a null character": "Linear()\0",
    "quotes": '"' * 10001,
    "an import": "__import__('os').system('true')",
    "a class": "Gaussian().__class__",
    "globals": "Gaussian.__init__.__globals__",
    "a private method": "Gaussian()._fields()",
    "a comprehension": "[Linear() for _ in range(10)]",
    "an assignment": "(k := Linear())",
    "a statement": "import os",
    "two statements": "Linear(); Linear()",
    "an f-string": "f'{Linear()}'",
    "a surrogate": "Linear() + \ud800",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_input_hangs_runs_code_or_fails_in_another_way(name):
    with pytest.raises(ExpressionError) as caught:
        parse_expression(HOSTILE[name])
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


@settings(deadline=None, max_examples=100)
@given(st.text(alphabet="xz0129.,+-*/()[]'\" =^eknLinearGaussian_\\{}:@~", max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        parse_expression(text)
    except ExpressionError as error:
        assert "\n" not in str(error)  # noqa: PT017  (any text may also be right)


def test_errors_can_be_sent_between_processes():
    error = pickle.loads(pickle.dumps(ExpressionError("what", 3)))
    assert (str(error), error.column) == ("what", 3)


def test_reading_is_possible_deep_in_other_calls_or_refused_in_one_line():
    code = """
import sys
from mercer.formula.syntax import ExpressionError
from mercer.kernels.text import parse_kernel
def deep(n):
    if n:
        return deep(n - 1)
    try:
        return parse_kernel("-" * 90 + "Linear()")
    except ExpressionError as error:
        return "refused"
print(deep(sys.getrecursionlimit() - 120))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("refused", "Linear()", "1.0 * Linear()")


def test_long_sums_are_compared_and_judged_without_doubling_the_work_at_each_term():
    kernel = parse_kernel("Linear() - Gaussian() + " * 40 + "Linear()")
    assert hash(kernel) == hash(parse_kernel(repr(kernel)))
    assert type(kernel.certificate()).__name__ == "Refuted"

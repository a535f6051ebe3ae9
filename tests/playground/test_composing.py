import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.kernels import Gaussian, Kernel, Linear, Periodic, exp
from mercer.playground.composing import (
    OPERATIONS,
    combine,
    complete,
    list_parameters,
    read_kernel,
    set_parameter,
)
from mercer.playground.state import PlayError

LEAVES = (
    "Gaussian(0.5)", "gaussian", "Gaussian(length_scale=[1, 2.5])", "Matern(2.5)", "Periodic(1, period=2)", "linear",
    "Polynomial(3)", "Polynomial(2, offset=0.5)", "Constant(2)", "RationalQuadratic( 0.3 )", "Fourier(4)", "Sinc()",
    "Laplacian.from_gamma(0.5)", "Cosine(1)", "Sigmoid(-0.5, 0.25)",
)  # fmt: skip
texts = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(" + ".join),
        st.tuples(inner, inner).map(lambda two: f"({two[0]}) *({two[1]})"),
        inner.map(lambda text: f"2*({text})"),
        inner.map(lambda text: f"({text})/4"),
        inner.map(lambda text: f"({text}).normalize()"),
        inner.map(lambda text: f"({text})**2"),
    ),
    max_leaves=3,
)


@given(texts, st.data())
@settings(max_examples=30, deadline=None)
def test_a_parameter_that_is_set_is_listed_with_its_value(text: str, data: st.DataObject) -> None:
    before = list_parameters(text)
    if not before:
        return
    chosen = data.draw(st.sampled_from(before))
    share = data.draw(st.floats(0.0, 1.0))
    value = chosen.low + share * (chosen.high - chosen.low)
    try:
        after = list_parameters(set_parameter(text, chosen.path, value))
    except PlayError as error:
        assert "too large" in str(error)  # noqa: PT017  (a power of a polynomial is)
        return
    assert [each.path for each in after] == [each.path for each in before]
    for old, new in zip(before, after, strict=True):
        wanted = value if old is chosen else old.value
        assert new.value == pytest.approx(round(wanted) if new.whole else wanted, rel=1e-5, abs=1e-12)
        assert new.low <= new.value <= new.high
        assert (new.title, new.whole) == (old.title, old.whole)


@given(texts)
@settings(max_examples=40, deadline=None)
def test_every_hyperparameter_has_a_slider(text: str) -> None:
    listed = {each.path: each.value for each in list_parameters(text)}
    assert read_kernel(text).hyperparameters().items() <= listed.items()
    assert len({each.title for each in list_parameters(text)}) == len(listed)


@pytest.mark.parametrize(
    ("text", "path", "value", "expected"),
    [
        ("2*gaussian(1)  +  linear", "k1__weight", 3.0, "3.0*gaussian(1)  +  linear"),
        ("gaussian+gaussian", "k2__length_scale", 0.5, "gaussian+gaussian(length_scale=0.5)"),
        ("Matern(2.5, )", "length_scale", 0.5, "Matern(2.5, length_scale=0.5)"),
        ("Gaussian([1, 1])", "length_scale[1]", 0.5, "Gaussian([1, 0.5])"),
        ("Polynomial(2)**2", "exponent", 3.0, "Polynomial(2)**3"),
        ("Sigmoid(-1, 0)", "scale", 0.5, "Sigmoid(0.5, 0)"),
        ("Gaussian.from_gamma(0.5)", "length_scale", 2.0, "Gaussian(length_scale=2.0)"),
    ],
)
def test_what_was_typed_stays_as_it_is(text: str, path: str, value: float, expected: str) -> None:
    assert set_parameter(text, path, value) == expected


@pytest.mark.parametrize(
    ("path", "value"), [("nothing", 1.0), ("length_scale", -1.0), ("length_scale", float("nan")), ("length_scale", 1e9)]
)
def test_what_a_parameter_cannot_be_is_refused(path: str, value: float) -> None:
    with pytest.raises(PlayError):
        set_parameter("Gaussian(1.0)", path, value)


MEANINGS = {
    "+ Linear()": lambda k: k + Linear(),
    "+ Gaussian(1.0)": lambda k: k + Gaussian(1.0),
    "× Periodic()": lambda k: k * Periodic(),
    "exp": exp,
    "normalize": lambda k: k.normalize(),
    "power": lambda k: k**2,
    "on [0]": lambda k: k.on([0]),
}


@given(texts.filter(lambda text: "[1, 2.5]" not in text and "**" not in text), st.sampled_from(sorted(MEANINGS)))
@settings(max_examples=30, deadline=None)
def test_combining_means_the_composition(text: str, operation: str) -> None:
    assert read_kernel(combine(text, operation)) == MEANINGS[operation](read_kernel(text))


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("text", ["linear", "-Linear()", "Linear() - Gaussian()", "Linear()/2", "2*linear"])
def test_every_button_makes_a_kernel(text: str, operation: str) -> None:
    read_kernel(combine(text, operation))


def test_an_unknown_button_is_refused() -> None:
    with pytest.raises(PlayError, match="no operation"):
        combine("linear", "divide")
    with pytest.raises(PlayError):
        combine("linear", "+ __import__('os')")


def test_errors_point_to_the_column() -> None:
    with pytest.raises(PlayError) as caught:
        read_kernel("  Linear() + Gausian(1)")
    assert caught.value.column == 14


@pytest.mark.parametrize(
    "text",
    ["", "7", "Spectrum()", "Precomputed([[1]])", "Gaussian([1, 2, 3])", "linear.on([5])", "Fourier(9999)",
     "exp(exp(exp(exp(9 + 9*linear))))", "x" * 501, "Linear()\x00", "lambda: 0", "Gaussian().formula",
     "linear.on('a')"],
)  # fmt: skip
def test_texts_that_are_no_kernel_of_points_are_refused(text: str) -> None:
    with pytest.raises(PlayError):
        read_kernel(text)


@given(st.text(max_size=30))
@settings(max_examples=40, deadline=None)
def test_any_text_is_a_kernel_or_an_error_in_words(text: str) -> None:
    complete(text)
    try:
        assert isinstance(read_kernel(text), Kernel)
    except PlayError as error:
        assert str(error)  # noqa: PT017


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gau", ["Gaussian()"]),
        ("2*Ma", ["Matern()"]),
        ("exp(Lin", ["Linear()"]),
        ("Matern(", ["nu=", "length_scale="]),
        ("Matern(2.5, ", ["length_scale="]),
        ("Matern(2.5, len", ["length_scale="]),
        ("Periodic(period=2, ", ["length_scale="]),
        ("Gaussian([1, 2], ", []),
        ("Gaussian(1).", ["normalize()", "on([0])"]),
        ("Gaussian(1).n", ["normalize()"]),
        ("Gaussian.", ["normalize()", "on([0])", "from_gamma(1.0)"]),
        ("Gaussian(1) ", []),
        ("2.", []),
        ("Gaussian(2.", []),
    ],
)
def test_completions_are_what_can_come_next(text: str, expected: list[str]) -> None:
    assert [each.insert for each in complete(text)] == expected
    assert [each.insert for each in complete(text + " + Linear()", len(text))] == expected


def test_every_completed_kernel_can_be_read() -> None:
    found = [each for each in complete("") if each.insert != "exp("]
    assert len(found) > 10
    for each in found:
        read_kernel(each.insert)
        read_kernel(each.title)
        assert each.what

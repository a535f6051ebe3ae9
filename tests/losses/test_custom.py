"""A loss of one's own: from its value alone it is the loss that was built in, and what is not convex is refused."""

import functools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from mercer import losses
from mercer.arrays.tensors import host_array
from mercer.losses import CustomLoss
from mercer.losses.corners import BoxLoss, CornerLoss
from mercer.losses.roots import find_root
from mercer.testing import check_loss

BUILT_IN = {
    "regression": [
        (losses.Squared(), lambda y, f: (y - f) ** 2),
        (losses.Absolute(), lambda y, f: np.abs(y - f)),
        (losses.Quantile(0.9), lambda y, f: np.maximum(0.9 * (y - f), -0.1 * (y - f))),
        (losses.Expectile(0.8), lambda y, f: np.where(y >= f, 0.8, 0.2) * (y - f) ** 2),
        (losses.Huber(0.7), lambda y, f: np.where(abs(y - f) < 0.7, (y - f) ** 2 / 2, 0.7 * (abs(y - f) - 0.35))),
        (losses.LogCosh(), lambda y, f: np.log(np.cosh(y - f))),
        (losses.EpsilonInsensitive(0.3), lambda y, f: np.maximum(0, np.abs(y - f) - 0.3)),
        (losses.SquaredEpsilonInsensitive(0.3), lambda y, f: np.maximum(0, np.abs(y - f) - 0.3) ** 2),
        (losses.Poisson(), lambda y, f: np.exp(f) - y * f),
        (losses.Gamma(), lambda y, f: y * np.exp(-f) + f),
    ],
    "classification": [
        (losses.Hinge(), lambda y, f: np.maximum(0, 1 - y * f)),
        (losses.SquaredHinge(), lambda y, f: np.clip(1 - y * f, 0, None) ** 2),
        (losses.Logistic(), lambda y, f: np.log(1 + np.exp(-y * f))),
        (losses.Exponential(), lambda y, f: np.exp(-y * f)),
    ],
}
PAIRS = [(loss, value, task) for task, pairs in BUILT_IN.items() for loss, value in pairs]
OTHERS = {
    "pseudo-Huber": CustomLoss(lambda y, f: np.sqrt(1 + (y - f) ** 2) - 1),
    "power 1.5": CustomLoss(lambda y, f: np.abs(y - f) ** 1.5),
    "power 4": CustomLoss(lambda y, f: (y - f) ** 4 / 4),
    "root of a square": CustomLoss(lambda y, f: np.sqrt((y - f) ** 2)),
    "cubed hinge": CustomLoss(lambda y, f: np.maximum(0, 1 - y * f) ** 3, task="classification"),
    "fair": CustomLoss(lambda y, f: np.abs(y - f) - np.log1p(np.abs(y - f))),
    "linex": CustomLoss(lambda y, f: np.exp(f - y) - (f - y) - 1),
    "smooth pinball": CustomLoss(lambda y, f: 0.9 * (y - f) + 0.2 * np.logaddexp(0, (f - y) / 0.2)),
}


def squared(y, f):
    return (y - f) ** 2


def slope_of_squared(y, f):
    return 2 * (f - y)


def by_loops(y, f):
    return np.array([(a - b) ** 2 for a, b in zip(y.ravel(), f.ravel(), strict=True)]).reshape(y.shape)


def scaled(y, f, factor):
    return factor * (y - f) ** 2


def _points(loss, n=200):
    rng = np.random.default_rng(0)
    y, f = 2 * rng.normal(size=n), 2 * rng.normal(size=n)
    if loss.task == "classification":
        return np.where(y < 0, -1.0, 1.0), f
    return (np.abs(y) + 0.1 if isinstance(loss, losses.Poisson | losses.Gamma) else y), f


@pytest.mark.parametrize(("loss", "value", "task"), PAIRS, ids=[repr(pair[0]) for pair in PAIRS])
def test_the_value_alone_makes_the_loss_that_is_built_in(loss, value, task):
    own, (y, f) = CustomLoss(value, task=task), _points(loss)
    assert (own.smooth, own.task, own.has_flat_parts) == (loss.smooth, loss.task, loss.has_flat_parts)
    slopes = loss.slope(y, f)
    close = functools.partial(np.testing.assert_allclose, rtol=1e-11, atol=1e-12)
    close(own.value(y, f), loss.value(y, f))
    close(own.slope(y, f), slopes)
    close(own.conjugate(y, slopes), loss.conjugate(y, slopes))
    close(own.prox(y, f, 0.7), loss.prox(y, f, 0.7), rtol=1e-9, atol=1e-9)
    if loss.smooth:
        close(own.curvature(y, f), loss.curvature(y, f))
    for found, expected in zip(own.domain(y), loss.domain(y), strict=True):
        close(found, np.broadcast_to(expected, y.shape))


@pytest.mark.parametrize("name", OTHERS)
def test_every_law_holds(name):
    check_loss(OTHERS[name])


@pytest.mark.parametrize("unit", [1e-3, 1e2])
@pytest.mark.parametrize("name", OTHERS)
def test_every_law_holds_in_other_units_of_targets(name, unit):
    numbers = unit * np.random.default_rng(1).normal(size=20)
    loss = OTHERS[name]
    check_loss(loss, np.where(numbers < 0, -1.0, 1.0) if loss.task == "classification" else numbers)


def test_corners_and_steep_places_of_slopes_are_found():
    smooth = {name: loss.smooth for name, loss in OTHERS.items()}
    assert [name for name, is_smooth in smooth.items() if not is_smooth] == ["power 1.5", "root of a square"]
    far = CustomLoss(lambda y, f: np.maximum(0, np.abs(y - f) - 77.0))
    assert not far.smooth


def test_piecewise_linear_losses_are_known_to_machines():
    for loss, value, task in PAIRS:
        found = CustomLoss(value, task=task).column(0)
        assert isinstance(found, CornerLoss) == isinstance(loss, CornerLoss)
        if isinstance(loss, CornerLoss):
            y, f = _points(loss)
            np.testing.assert_allclose(found.value(y, f), loss.value(y, f), rtol=1e-12, atol=1e-12)
            for mine, known in zip(found.domain(y), loss.domain(y), strict=True):
                np.testing.assert_allclose(mine, np.broadcast_to(known, y.shape), atol=1e-15)
    costly = CustomLoss(lambda y, f: np.where(y > 0, 5.0, 1.0) * np.maximum(0, 1 - y * f), task="classification")
    assert costly.column(0) == BoxLoss((-1.0, 0.0), (0.0, 5.0), 0.0)
    check_loss(costly)
    check_loss(costly.column(0))
    for value in (lambda y, f: abs(y - f) + abs(y - f - 1), lambda y, f: abs(y - f) + 1, lambda y, f: abs(2 - y - f)):
        own = CustomLoss(value)
        assert own.column(0) is own
        check_loss(own)


def test_values_of_the_conjugate_are_those_of_formulas():
    s = np.linspace(-0.99, 0.99, 21)
    np.testing.assert_allclose(OTHERS["pseudo-Huber"].conjugate(0.0, s), 1 - np.sqrt(1 - s**2), atol=1e-12)
    np.testing.assert_allclose(OTHERS["power 4"].conjugate(0.0, 5 * s), 0.75 * np.abs(5 * s) ** (4 / 3), atol=1e-12)
    np.testing.assert_allclose(OTHERS["power 1.5"].conjugate(2.0, s), 2 * s + 4 / 27 * np.abs(s) ** 3, atol=1e-12)
    u = 3 * s[s > -1 / 3] + 1
    np.testing.assert_allclose(OTHERS["linex"].conjugate(0.0, u - 1), u * np.log(u) - u + 1, atol=1e-10)
    np.testing.assert_array_equal(np.isinf(OTHERS["linex"].conjugate(0.0, [-1.1, -1.0, 5.0])), [True, False, False])


def test_functions_that_cannot_be_followed_need_a_slope():
    for value in (lambda y, f: special.huber(1.0, y - f), by_loops, np.vectorize(lambda y, f: max(y - f, 0.0) ** 2)):
        with pytest.raises(ValueError, match=r"cannot be followed: .*; pass slope=.* and curvature="):
            CustomLoss(value)
    own = CustomLoss(by_loops, slope_of_squared)
    assert own.smooth  # the code of the slope can be followed
    check_loss(own)
    hidden = CustomLoss(by_loops, lambda y, f: -2 * np.asarray(y - f))
    assert not hidden.smooth
    with pytest.raises(TypeError, match="no curvature: pass curvature="):
        hidden.curvature(0.0, 1.0)
    check_loss(hidden)
    told = CustomLoss(by_loops, lambda y, f: -2 * np.asarray(y - f), lambda y, f: np.full(np.shape(f), 2.0))
    assert told.smooth
    check_loss(told)


@pytest.mark.torch
def test_functions_that_cannot_be_followed_take_tensors_through_the_host():
    torch = pytest.importorskip("torch")
    own = CustomLoss(by_loops, lambda y, f: -2 * np.asarray(y - f))
    y, f = torch.tensor([1.0, 2.0]), torch.tensor([0.0, 4.0])
    for name in ("value", "slope"):
        found = getattr(own, name)(y, f)
        assert found.dtype == f.dtype
        np.testing.assert_allclose(host_array(found), getattr(losses.Squared(), name)([1.0, 2.0], [0.0, 4.0]))


@pytest.mark.parametrize(
    "value",
    [
        lambda y, f: np.minimum((y - f) ** 2, 1), lambda y, f: np.log1p((y - f) ** 2), lambda y, f: -((y - f) ** 2),
        lambda y, f: np.where(np.abs(y - f) < 3, 1 - (1 - (y - f) ** 2 / 9) ** 3, 1), lambda y, f: np.sqrt(abs(y - f)),
        lambda y, f: np.sin(f) + f**2 / 4, lambda y, f: (y - np.tanh(f)) ** 2,
    ],
)  # fmt: skip
def test_what_is_not_convex_is_refused_with_the_place(value):
    with pytest.raises(
        ValueError, match=r"is not convex: where y = .*, its slope falls from .* at f = .*Huber"
    ) as found:
        CustomLoss(value)
    words = str(found.value).replace(",", " ").replace(";", " ").split()
    numbers = [float(words[i + 2]) for i, word in enumerate(words) if word in ("y", "f") and words[i + 1] == "="]
    y, *places = numbers
    one, other = ((value(y, f + 1e-6) - value(y, f - 1e-6)) / 2e-6 for f in places)
    assert places[0] < places[1]
    assert one > other


def test_a_ramp_of_classes_is_refused():
    with pytest.raises(ValueError, match="is not convex"):
        CustomLoss(lambda y, f: np.clip(1 - y * f, 0, 1), task="classification")


def test_values_that_jump_and_slopes_of_another_function_are_refused():
    with pytest.raises(ValueError, match=r"not convex: its value jumps: where y = .*, it is"):
        CustomLoss(lambda y, f: (y > f) + (y - f) ** 2)
    for wrong in (lambda y, f: f - y, lambda y, f: 2 * np.abs(f - y) * np.sign(f - y) + 0.1):
        with pytest.raises(ValueError, match=r"slope is not the derivative of its value: where y = .*leave slope out"):
            CustomLoss(squared, wrong)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda y, f: y * np.log(y / f), r"is nan where y = 1 and f = -.*np.exp\(f\)"),
        (lambda y, f: np.where(f > 0, f, np.inf), "is inf where y = .* and f = "),
        (lambda y, f: np.mean((y - f) ** 2), "gave a single one for .*leave out np.sum"),
        (lambda y, f: (y - f)[:, 0], "a number for each entry, an array of shape"),
        (lambda y, f: (y - f) ** 2 if y > f else 0 * f, "entry by entry: write cases with np.where"),
        (lambda y, f: (y - f).astype(str), "type <U"),
        (lambda f: f, "raised TypeError"),
    ],
)  # fmt: skip
def test_functions_that_give_no_numbers_are_refused_with_the_remedy(value, message):
    with pytest.raises(ValueError, match=message):
        CustomLoss(value)


def test_parameters_are_checked():
    with pytest.raises(TypeError, match="value must be a function of y and f, got 3"):
        CustomLoss(3)
    with pytest.raises(TypeError, match="slope must be a function"):
        CustomLoss(squared, 2.0)
    with pytest.raises(ValueError, match="'regression' or 'classification', got 'ranking'"):
        CustomLoss(squared, task="ranking")
    with pytest.raises(TypeError, match="name must be a text"):
        CustomLoss(squared, name=3)


def test_targets_are_checked():
    own = CustomLoss(lambda y, f: y * np.log(y) - y * f + np.exp(f) - y)
    own.check_targets(np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="row 1 is"):
        own.check_targets(np.array([1.0, -2.0]))
    check_loss(own)
    amounts = CustomLoss(lambda y, f: y * np.exp(-f) + f)  # which is not convex for y < 0
    amounts.check_targets(np.array([0.0, 2.0]))
    with pytest.raises(ValueError, match=r"row 1 is -2.0; leave such rows out"):
        amounts.check_targets(np.array([1.0, -2.0]))
    classes = CustomLoss(lambda y, f: np.exp(-y * f), task="classification")
    with pytest.raises(ValueError, match="row 0 is"):
        classes.check_targets(np.array([0.0, 1.0]))


def test_it_is_a_value_that_prints_its_functions():
    own = CustomLoss(squared, slope_of_squared, name="mine")
    assert repr(own) == "CustomLoss(value=squared, slope=slope_of_squared, name='mine')"
    assert repr(CustomLoss(squared)) == "CustomLoss(value=squared)"
    assert own == CustomLoss(squared, slope=slope_of_squared, name="mine") != CustomLoss(squared)
    assert len({own, CustomLoss(squared, slope_of_squared, name="mine")}) == 1
    assert own.get_params() == {
        "value": squared, "slope": slope_of_squared, "curvature": None, "task": "regression", "name": "mine",
    }  # fmt: skip
    assert own.with_params(slope=None, name=None) == CustomLoss(squared)
    again = pickle.loads(pickle.dumps(own))
    assert again == own
    np.testing.assert_array_equal(again.curvature([1.0, 2.0], 0.0), [2.0, 2.0])
    partial = CustomLoss(functools.partial(scaled, factor=3.0))
    assert (
        partial == CustomLoss(functools.partial(scaled, factor=3.0)) != CustomLoss(functools.partial(scaled, factor=2))
    )
    with pytest.raises(AttributeError):
        own.value = abs


@settings(max_examples=50, deadline=None)
@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.floats(1e-9, 1e9), st.floats(-1e6, 1e6))
def test_roots_are_found_from_anywhere_with_any_stride(root, steepness, stride, start):
    def cubic(z):
        return steepness * (z - root) ** 3

    def jump(z):
        return np.where(z < root, -1.0, 1.0)

    for function in (cubic, jump, lambda z: np.sinh((z - root) / steepness)):
        found = find_root(function, np.array([start]), np.array([stride]))
        np.testing.assert_allclose(found, root, rtol=1e-4 if function is cubic else 1e-12, atol=1e-6)

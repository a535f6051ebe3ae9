"""The hinge and its kin: the inequality of Fenchel and Young, which ties a loss to its conjugate."""

import numpy as np
import pytest

from mercer.losses.hinge import EpsilonInsensitive, Hinge

LOSSES = {
    "hinge of the class above": Hinge(0.0, 2.0),
    "hinge of the class below": Hinge(-1.5, 0.0),
    "two sides": Hinge(-1.0, 3.0),
    "insensitive": EpsilonInsensitive(2.0, 0.3),
    "insensitive without a tube": EpsilonInsensitive(0.5, 0.0),
}


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_value_and_conjugate_are_never_less_than_the_product_of_their_arguments(loss):
    r, beta = np.meshgrid(np.linspace(-4, 4, 41), np.linspace(-4, 4, 41))
    assert (loss.value(r) + loss.conjugate(beta) >= r * beta - 1e-12).all()


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_they_are_equal_to_it_at_the_slope(loss):
    r = np.linspace(-4, 4, 37)
    beta = loss.slope(r)
    np.testing.assert_allclose(loss.value(r) + loss.conjugate(beta), r * beta, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_the_slope_is_the_derivative_away_from_corners(loss):
    r, h = np.linspace(-4, 4, 37) + 0.01, 1e-6
    np.testing.assert_allclose(loss.slope(r), (loss.value(r + h) - loss.value(r - h)) / (2 * h), atol=1e-8)


def test_a_loss_is_the_largest_of_the_lines_in_its_box():
    lower, upper, r = -1.0, 2.0, np.linspace(-3, 3, 25)
    lines = [beta * r - 0.4 * abs(beta) for beta in np.linspace(lower, upper, 301)]
    np.testing.assert_allclose(Hinge(lower, upper, 0.4).value(r), np.max(lines, axis=0), atol=1e-12)


def test_boxes_may_differ_from_point_to_point():
    C, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, -1.0, 1.0])
    loss = Hinge(np.where(y < 0, -C, 0.0), np.where(y > 0, C, 0.0))
    margins = np.array([0.2, -0.5, 3.0])
    np.testing.assert_allclose(loss.value(y - y * margins), C * np.maximum(0.0, 1.0 - margins))

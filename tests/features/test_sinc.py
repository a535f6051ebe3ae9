import numpy as np
import pytest

from mercer import kernels
from mercer.features import Sinc
from mercer.features.sinc import ROOM, count_nodes, find_gauss_legendre, find_reach


def exact(X, Z=None):
    """Σ sin(2πΔ)/Δ from the raw differences: the kernel moves data to its middle first, which rounds once more."""
    return 2 * np.pi * np.sinc(2 * (X[:, None, :] - (X if Z is None else Z)[None, :, :])).sum(axis=2)


def rounding(X):
    """What the rounding of x − centre, of the order of the range of the data, may do to the kernel."""
    return 1e-13 + 17 * np.finfo(float).eps * float(np.ptp(X))


@pytest.mark.parametrize("n", [1, 2, 5, 32, 300])
def test_quadrature_is_exact_for_polynomials_of_twice_the_degree(n):
    nodes, weights = find_gauss_legendre(n)
    for degree in {0, 1, n, 2 * n - 2, 2 * n - 1}:
        assert weights @ nodes**degree == pytest.approx(0 if degree % 2 else 2 / (degree + 1), abs=1e-14)


def test_the_value_at_equal_points_is_two_pi_for_each_dimension():
    features = Sinc().fit_transform(np.random.default_rng(0).uniform(size=(5, 3)))
    np.testing.assert_allclose((features**2).sum(axis=1), 6 * np.pi, rtol=1e-14)


def test_32_nodes_reach_the_limit_to_1e_13_where_harmonics_do_not():
    X = np.random.default_rng(1).uniform(-2, 2, size=(40, 2))
    phi = Sinc(n_nodes=32).fit(X)
    assert np.abs(phi.transform(X) @ phi.transform(X).T - kernels.Sinc()(X)).max() < 1e-13


@pytest.mark.parametrize("n_nodes", [8, 13, 32, 64, 200, 500])
def test_as_many_nodes_as_the_rule_asks_for_are_exact_as_far_as_they_reach(n_nodes):
    far = find_reach(n_nodes)
    X = np.linspace(-far / 2, far / 2, 81).reshape(-1, 1)
    phi = Sinc(n_nodes).fit(X)
    features = phi.transform(X)
    assert np.abs(features @ features.T - exact(X)).max() < rounding(X)
    assert count_nodes(far) == n_nodes
    assert phi.reach_ == far


def test_the_rule_is_not_wasteful():
    # Half as far again as the rule allows, digits are lost: the refusal is there for a reason.
    far = 1.5 * find_reach(32)
    X = np.array([[-far / 2], [far / 2]])
    phi = Sinc(n_nodes=32).fit([[-1.0], [1.0]])
    features = phi.waves_(X)
    assert np.abs(features @ features.T - kernels.Sinc()(X)).max() > 1e-10


@pytest.mark.parametrize("spread", [0.0, 1.0, 30.0, 250.0])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_nodes_are_chosen_from_the_range_of_the_data_and_centred_on_it(spread, offset):
    rng = np.random.default_rng(2)
    X = offset + spread * np.append(rng.uniform(size=(50, 1)), [[0.0], [1.0]], axis=0)
    phi = Sinc().fit(X)
    features = phi.transform(X)
    assert phi.n_nodes_ == max(32, count_nodes(ROOM * (X.max() - X.min())))
    assert np.abs(features @ features.T - exact(X)).max() < rounding(X)
    beyond = offset + spread * np.array([[-0.24], [1.24]])
    assert np.abs(phi.transform(beyond) @ features.T - exact(beyond, X)).max() < rounding(beyond)


def test_data_beyond_reach_is_refused_and_the_message_says_what_to_do():
    phi = Sinc().fit([[0.0], [1.0]])
    with pytest.raises(
        ValueError, match=r"row 1, column 0 is 9, 8\.5 from the centre 0\.5; fit on data.*raise n_nodes"
    ):
        phi.transform([[0.0], [9.0]])
    with pytest.raises(ValueError, match="32 nodes are exact within"):
        Sinc(n_nodes=32).fit([[0.0], [20.0]])


def test_a_range_that_needs_too_many_nodes_points_to_the_kernel():
    with pytest.raises(ValueError, match="divide the data by a length, or use the kernel"):
        Sinc().fit([[0.0], [1e6]])


@pytest.mark.parametrize("n_nodes", [0, -3, 2.5, True])
def test_the_number_of_nodes_must_be_a_positive_whole_number(n_nodes):
    with pytest.raises(ValueError, match="n_nodes must be a whole number of at least 1"):
        Sinc(n_nodes).fit([[0.0]])


def test_names_are_distinct_and_say_the_centre():
    names = Sinc(500).fit([[2.0, -1.0], [2.5, 1.0]]).get_feature_names_out(["t", "u"])
    assert len(set(names)) == len(names) == 2000
    assert names[0].startswith("cos(")
    assert names[0].endswith(" (t - 2.25))")
    assert names[1].endswith(" u)")

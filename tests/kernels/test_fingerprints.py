import numpy as np
import pytest
from scipy import sparse

from mercer import Gram, KernelRidge, load, save
from mercer.certify.verdict import Proved, Refuted
from mercer.gram.bits import pack_bits, pack_pair
from mercer.kernels import BitSimilarity, Linear, MinMax, Tanimoto, Tversky
from mercer.kernels.fingerprints.coefficients import COEFFICIENTS
from mercer.testing import check_kernel

rng = np.random.default_rng(3)
BITS = (rng.uniform(size=(20, 24)) < 0.3).astype(float)
BITS[0], BITS[1], BITS[2] = 0.0, 1.0, 0.0
COUNTS = rng.poisson(0.6, size=(12, 9)).astype(float)
COUNTS[3] = 0.0
KERNELS = [name for name, coefficient in COEFFICIENTS.items() if coefficient.because is not None]
OTHERS = [name for name in COEFFICIENTS if name not in KERNELS]


def divide(above, below, empty):
    return above / below if below else float(empty)


def count(x, z):
    """a, b, c, d, m, and whether both are empty."""
    a, b, c, d = x.sum(), z.sum(), (x * z).sum(), len(x)
    return a, b, c, d, float((x == z).sum()), a == b == 0


BY_HAND = {
    "dice": lambda a, b, c, d, m, e: divide(2 * c, a + b, e),
    "cosine": lambda a, b, c, d, m, e: divide(c, np.sqrt(a * b), e),
    "sokal-sneath": lambda a, b, c, d, m, e: divide(c, 2 * a + 2 * b - 3 * c, e),
    "braun-blanquet": lambda a, b, c, d, m, e: divide(c, max(a, b), e),
    "forbes": lambda a, b, c, d, m, e: divide(d * c, a * b, e),
    "russell-rao": lambda a, b, c, d, m, e: c / d,
    "sokal-michener": lambda a, b, c, d, m, e: m / d,
    "rogers-tanimoto": lambda a, b, c, d, m, e: m / (m + 2 * (d - m)),
    "hamann": lambda a, b, c, d, m, e: (m - (d - m)) / d,
    "rogot-goldberg": lambda a, b, c, d, m, e: divide(c, a + b, 0.5) + divide(m - c, 2 * d - a - b, 0.5),
    "sokal-sneath-2": lambda a, b, c, d, m, e: 2 * m / (2 * m + (d - m)),
    "kulczynski": lambda a, b, c, d, m, e: e if a * b == 0 else (c / a + c / b) / 2,
    "mcconnaughey": lambda a, b, c, d, m, e: e if a * b == 0 else c / a + c / b - 1,
    "simpson": lambda a, b, c, d, m, e: divide(c, min(a, b), e),
}


def test_tanimoto_is_what_both_have_over_what_either_has():
    expected = [[divide(np.minimum(x, z).sum(), np.maximum(x, z).sum(), 1) for z in BITS] for x in BITS]
    np.testing.assert_allclose(Tanimoto()(BITS), expected, atol=1e-15)
    np.testing.assert_allclose(MinMax()(BITS), expected, atol=1e-15)
    counts = [[divide(x @ z, x @ x + z @ z - x @ z, 1) for z in COUNTS] for x in COUNTS]
    np.testing.assert_allclose(Tanimoto()(COUNTS), counts, atol=1e-15)
    ratios = [[divide(np.minimum(x, z).sum(), np.maximum(x, z).sum(), 1) for z in COUNTS] for x in COUNTS]
    np.testing.assert_allclose(MinMax()(COUNTS), ratios, atol=1e-15)


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_coefficients_are_those_of_the_books(name):
    expected = [[BY_HAND[name](*count(x, z)) for z in BITS] for x in BITS]
    np.testing.assert_allclose(BitSimilarity(name)(BITS), expected, atol=1e-14)
    np.testing.assert_allclose(BitSimilarity(name)(sparse.csr_array(BITS)), expected, atol=1e-14)


@pytest.mark.parametrize(
    "kernel", [Tanimoto(), Tversky(0.5, 0.5), Tversky(3.0, 3.0), *map(BitSimilarity, KERNELS)], ids=repr
)
def test_what_is_proved_is_a_kernel_on_every_sample(kernel):
    assert isinstance(kernel.certificate(), Proved)
    check_kernel(kernel, BITS)
    for width in (4, 9):
        rows = (rng.uniform(size=(60, width)) < rng.uniform(size=(60, 1))).astype(float)
        assert np.linalg.eigvalsh(kernel(rows)).min() > -1e-10


@pytest.mark.parametrize("kernel", [Tversky(0.4, 0.4), Tversky(0.0, 0.0), *map(BitSimilarity, OTHERS)], ids=repr)
def test_what_is_no_kernel_shows_where(kernel):
    verdict = kernel.certificate()
    assert isinstance(verdict, Refuted)
    points, a = np.asarray(verdict.points, dtype=float), np.asarray(verdict.coefficients)
    assert set(np.unique(points)) <= {0.0, 1.0}
    assert a @ kernel(points) @ a < -0.01


def test_tanimoto_is_a_kernel_of_any_numbers_and_minmax_of_counts():
    check_kernel(Tanimoto(), rng.normal(size=(15, 3)))
    check_kernel(MinMax(), COUNTS)
    check_kernel(MinMax(), np.abs(rng.normal(size=(15, 3))))
    for kernel, points in ((Tanimoto(), rng.normal(size=(40, 2))), (MinMax(), rng.poisson(1.0, size=(40, 3)))):
        assert np.linalg.eigvalsh(kernel(points)).min() > -1e-12
    assert Tanimoto().certificate().strict
    assert MinMax().certificate().strict


@pytest.mark.parametrize("kernel", [Tanimoto(), MinMax()], ids=repr)
def test_every_form_of_a_fingerprint_gives_the_same_values(kernel):
    expected = kernel(COUNTS[:5], COUNTS[5:])
    by_hash = [{f"h{d}": n for d, n in enumerate(row) if n} for row in COUNTS]
    for form in (sparse.csr_array(COUNTS), sparse.csc_array(COUNTS).tocsr(), by_hash, COUNTS.astype(np.uint8)):
        np.testing.assert_allclose(kernel(form[:5], form[5:]), expected, atol=1e-15)
        np.testing.assert_allclose(Gram(kernel, form[:5], form[5:]).dense(), expected, atol=1e-15)
    members = [{int(d) for d in np.flatnonzero(row)} for row in COUNTS]
    np.testing.assert_allclose(kernel(members), kernel(1.0 * (COUNTS > 0)), atol=1e-15)
    np.testing.assert_allclose(Gram(kernel, members).dense(), kernel(1.0 * (COUNTS > 0)), atol=1e-15)


def test_what_a_function_makes_of_objects_may_be_sets():
    kernel = Tanimoto().after(set)
    np.testing.assert_allclose(kernel(["abc", "bcd", "xy"]), [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]])
    assert isinstance(kernel.certificate(), Proved)
    np.testing.assert_allclose(Gram(kernel, ["abc", "bcd"], ["ab"]).dense(), [[2 / 3], [0.25]])


def test_a_model_of_sets_goes_through_a_file(tmp_path):
    sets, y = [frozenset(np.flatnonzero(row)) for row in BITS], rng.normal(size=len(BITS))
    model = KernelRidge(kernel=Tanimoto(), alpha=0.1).fit(sets, y)
    np.testing.assert_allclose(
        model.predict(sets), KernelRidge(kernel=Tanimoto(), alpha=0.1).fit(BITS, y).predict(BITS)
    )
    save(model, tmp_path / "model.mercer")
    assert np.array_equal(load(tmp_path / "model.mercer").predict(sets), model.predict(sets))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("width", [17, 64, 200, 2100])
def test_counted_bits_are_dot_products_on_every_instruction_set(dtype, width):
    native = pytest.importorskip("mercer._native")
    X, Z = ((rng.uniform(size=(n, width)) < share).astype(dtype) for n, share in ((101, 0.5), (37, 0.95)))
    X[0], Z[0] = 1, 1
    for isa in native.isas():
        out = np.empty((101, 37), dtype=dtype)
        plan = native.Plan([("bits", pack_bits(X), pack_bits(Z), 1.0)], [], [], [], isa=isa)
        plan.dense(out, np.arange(101), 0, 37, 2)
        assert np.array_equal(out, X @ Z.T)


def test_long_sparse_rows_of_few_ones_are_not_spread_out():
    few, many = (sparse.random(30, 100_000, density=p, format="csr", rng=1) for p in (1e-4, 0.05))
    few.data[:], many.data[:] = 1.0, 1.0
    assert pack_pair(few, None) is None
    assert pack_pair(many, few) is None
    packed, _ = pack_pair(many, None)
    assert packed.nbytes < many.data.nbytes + many.indices.nbytes
    np.testing.assert_array_equal(Gram(Linear(), few).dense(), (few @ few.T).toarray())
    np.testing.assert_array_equal(Gram(Linear(), many).dense(), (many @ many.T).toarray())


@pytest.mark.parametrize(
    "kernel", [Tanimoto(), MinMax(), BitSimilarity("rogers-tanimoto"), (Linear() + 1.0) ** 2], ids=repr
)
def test_gram_matrices_of_bits_are_those_of_the_reference(kernel):
    gram = Gram(kernel, BITS)
    np.testing.assert_allclose(gram.dense(), kernel(BITS), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(gram @ np.ones(len(BITS)), kernel(BITS).sum(axis=1), rtol=1e-13)
    np.testing.assert_allclose(
        Gram(kernel, BITS[:7], BITS[7:]).dense(), kernel(BITS[:7], BITS[7:]), rtol=1e-14, atol=1e-15
    )


def test_what_is_no_fingerprint_is_refused_with_a_remedy():
    with pytest.raises(ValueError, match=r"row 0, column 1 is -1.*Tanimoto\(\) takes numbers of any sign"):
        MinMax()([[0.0, -1.0]])
    with pytest.raises(ValueError, match=r"not negative.*row 1, column 0 is -2"):
        MinMax()(sparse.csr_array([[0.0, 1.0], [-2.0, 0.0]]))
    with pytest.raises(ValueError, match="whole counts"):
        MinMax()(sparse.csr_array([[0.5, 1.0]]))
    with pytest.raises(ValueError, match=r"0 or 1, but row \d, column \d is 3.*MinMax\(\) or Tanimoto\(\)"):
        BitSimilarity("dice")([[3.0, 1.0]])
    with pytest.raises(TypeError, match="give rows of bits, or take a coefficient such as 'dice'"):
        BitSimilarity("russell-rao")([{1, 2}])
    with pytest.raises(TypeError, match="object 1 is 5 of type int, but others are sets"):
        Tanimoto()([{1, 2}, 5])
    with pytest.raises(ValueError, match="counts are finite"):
        MinMax()([{1: float("nan")}])
    with pytest.raises(ValueError, match=r"alpha and beta must be equal.*k\(\[1, 1\], \[1, 0\]\) = 0.5263"):
        Tversky(0.9, 0.1)
    with pytest.raises(ValueError, match="must be one of 'dice'"):
        BitSimilarity("jaccard")


@pytest.mark.parametrize("kernel", [Tversky(0.5, 0.5), BitSimilarity("dice"), MinMax()], ids=repr)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_negative_count_is_refused_with_its_place(kernel, form):
    with pytest.raises(ValueError, match="row 1, column 2 is -1"):
        kernel(form(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, -1.0]])))


def test_minmax_in_plain_rows_says_what_a_negative_count_is():
    assert MinMax()([[0.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]]).tolist() == [[1.0, 0.0]]
    assert np.isclose(Tanimoto()([[1.0, -1.0]], [[-1.0, 1.0]])[0, 0], -2 / (2 + 2 + 2))

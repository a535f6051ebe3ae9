"""Is this a kernel?  First a proof, then a search for a violation, and an honest Unknown when both fail."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from mercer.arrays.threads import silence_warnings
from mercer.checks import is_whole
from mercer.formula.data import Rows, length, pick, short
from mercer.kernels.base import Domain, Kernel, show_given
from mercer.kernels.custom import read_square

from .clock import LAST_SECONDS, SEARCH_SECONDS, OutOfTimeError, ProofClock
from .domain import count_parts, find_domain, get_matrix, list_likely_dims, list_row_numbers
from .points import PointSet, generate_point_sets
from .precomputed import judge_matrix, judge_square
from .refute import Examiner
from .rules import prove, suggest_telling_spacings
from .values import FunctionValues, KernelValues, OutOfRangeError, PointValues
from .verdict import Refuted, Unknown, Verdict

MOST_PARTS = 4000  # kernels inside a kernel; the proof of a longer one is longer than anyone reads
LARGEST_DIM = 2**17  # features of points that are looked at; a single matrix of more may take longer than the search
LARGEST_TABLE = 2**13  # the same for categories, which are numbered column by column
SAMPLE_FUNCTION, SAMPLE_KERNEL = 200, 500  # objects of a sample that are looked at


def certify(function: Any, dim: int = 2, sample: Rows | None = None) -> Verdict:
    """Decide whether a function of two points is a positive semi-definite kernel, or a matrix one of its Gram matrices.

    A kernel gives Σ aᵢaⱼ k(xᵢ, xⱼ) ≥ 0 for all points x₁ … xₙ and numbers a₁ … aₙ.

    Parameters
    ----------
    function : callable, Kernel or array of shape (n, n)
        ``function(x, z)`` returns a number.  Without a sample the points are vectors: arrays of length ``dim``
        (or plain numbers if ``dim`` is 1 and the function does not take arrays).  Of a matrix K, symmetric or not,
        the points are its row numbers, or those of them that ``sample`` names.
    dim : int, default=2
        Number of features of the points, if no sample is given.
    sample : collection of objects, optional
        The only objects to look at, of any type the function takes.

    Returns
    -------
    Verdict
        :class:`Proved` (kernels and matrices only), :class:`Refuted` with points anyone can check, or :class:`Unknown`.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> print(mercer.certify(lambda x, z: (x @ z - 1) ** 2))
    Refuted: the function is not a kernel.
    ...
    The value was checked in exact rational arithmetic: it is exactly −1, with no rounding error at all.
    >>> mercer.certify(lambda a, b: len(set(a) & set(b)), sample=["kernel", "ridge", "eigen"])
    <Unknown: whether the function is a kernel (1 thing tried)>
    >>> mercer.certify(np.array([[2.0, 1.0], [1.0, 2.0]])).strict
    True
    """
    if isinstance(function, Kernel):
        return certify_kernel(function, dim=dim if sample is None else None, sample=sample)
    if isinstance(function, list | tuple) or hasattr(function, "shape"):
        return _certify_matrix(function, sample)
    if not callable(function) or isinstance(function, type):
        raise TypeError(
            f"certify takes a function of two points, a Kernel or a square matrix, got {show_given(function)}"
        )
    with _overflow_ignored():
        if sample is not None:
            values = FunctionValues(function, strict=True)
            found, tried = search_sample(values, _check_sample(sample, SAMPLE_FUNCTION))
        else:
            dim = _check_dim(dim)
            values = FunctionValues(function, scalars=dim == 1 and _wants_scalars(function))
            found, tried = search_vectors(values, dim)
    return found or Unknown((tried,), values.name)


def _certify_matrix(matrix: Any, sample: Rows | None) -> Verdict:
    K = read_square(matrix, "certify")
    if sample is None:
        return judge_square(K)
    rows = np.asarray(sample)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.size == 0 or rows.min() < 0 or rows.max() >= len(K):
        raise ValueError(f"certify: sample holds row numbers from 0 to {len(K) - 1} of the matrix, got {short(sample)}")
    return judge_square(K[np.ix_(rows, rows)], "the matrix of the sample")


def certify_kernel(kernel: Kernel, dim: int | None = None, sample: Rows | None = None) -> Verdict:
    """Decide whether a kernel is positive semi-definite; this is ``kernel.certificate``.

    Without ``dim`` proofs hold for every number of features, and violations are looked for in few.  A sample holds the
    only objects to look for a violation at.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> k = 3.0 * Gaussian(1.0) - Gaussian(2.0)
    >>> k.certificate(dim=1)
    <Proved: 3.0 * Gaussian(length_scale=1.0) - Gaussian(length_scale=2.0) is a kernel on points with 1 feature>
    >>> k.certificate(dim=2).value < 0
    True
    """
    if dim is not None and sample is not None:
        raise ValueError(f"certificate takes dim or sample, not both; got dim={dim!r} and a sample")
    dim = None if dim is None else _check_dim(dim)
    if count_parts(kernel, MOST_PARTS + 1) > MOST_PARTS:
        return Unknown((f"nothing: the expression has more than {MOST_PARTS} parts",), "the expression")
    try:
        matrix = get_matrix(kernel)
        if matrix is not None and sample is None:
            return judge_matrix(matrix, repr(kernel))
        proof = prove(kernel, dim)
        if proof is not None:
            return proof
        found, tried = refute_kernel(kernel, dim, sample)
    except RecursionError:
        return Unknown(("nothing: the expression is nested too deeply to be evaluated",), "the expression")
    if found is not None:
        return found
    rules = "proof by composition: no rule or theorem we know covers the whole expression"
    if dim is None and sample is None:
        rules += "; with dim= given, a proof for that number of features may exist"
    return Unknown((rules, *tried), repr(kernel))


def refute_kernel(
    kernel: Kernel, dim: int | None = None, sample: Rows | None = None
) -> tuple[Refuted | None, list[str]]:
    """Search for a violation only, proofs aside; return it (or None) and what was tried."""
    values = KernelValues(kernel)
    domain = find_domain(kernel)
    tried: list[str] = []
    refusals: list[Exception] = []
    with _overflow_ignored():
        if sample is not None or domain == "indices":
            rows = list_row_numbers(kernel) if sample is None else _check_sample(sample, SAMPLE_KERNEL)
            found, line = search_sample(values, rows)
            return found, [line]
        dims = list_likely_dims(kernel) if dim is None else [dim]
        for d in dims:
            try:
                spacings = suggest_telling_spacings(kernel, d)
                found, line = search_vectors(values, d, domain, spacings, SEARCH_SECONDS / len(dims))
            except (ValueError, TypeError, IndexError) as error:  # not a dimension for this kernel
                refusals.append(error)
                continue
            tried.append(line)
            if found is not None:
                return found, tried
    if not tried and dim is not None and domain != "objects":
        raise ValueError(f"{values.name} cannot be looked at on points with {dim} features: {refusals[0]}")
    if not tried:
        tried.append(
            f"search for a violation: the kernel does not take numeric vectors ({refusals[0]}); pass objects it takes, "
            "k.certificate(sample=[…])"
        )
    return None, tried


@contextmanager
def _overflow_ignored() -> Iterator[None]:
    """Overflow far from the origin is expected; what matters of it is said in words."""
    with silence_warnings(category=RuntimeWarning), np.errstate(all="ignore"):  # others are of the function itself
        yield


def search_vectors(
    values: PointValues,
    dim: int,
    domain: Domain = "real",
    spacings: Sequence[float] = (),
    seconds: float = SEARCH_SECONDS,
) -> tuple[Refuted | None, str]:
    """Search for a violation at vectors of ``dim`` features; return it (or None) and what was tried."""
    most = LARGEST_TABLE if domain == "categories" else LARGEST_DIM
    if dim > most:
        return None, f"search for a violation: not tried, because points have more than {most} features"
    sets = generate_point_sets(dim, domain, spacings)
    return _search(values, sets, seconds, f"with {dim} feature{'s' * (dim != 1)}")


def search_sample(values: PointValues, sample: Rows) -> tuple[Refuted | None, str]:
    """Search for a violation at given objects: at few of them first, then at more."""
    n = length(sample)
    sizes = sorted({min(n, size) for size in (6, 16, 40, 100, 200, n)})
    sets = (PointSet("objects of the sample", pick(sample, np.arange(size) * n // size)) for size in sizes)
    return _search(values, sets, 2 * SEARCH_SECONDS, "of the sample")


def _search(values: PointValues, sets: Iterable[PointSet], seconds: float, where: str) -> tuple[Refuted | None, str]:
    start = time.monotonic()
    values.clock = ProofClock(LAST_SECONDS * seconds / SEARCH_SECONDS)
    examiner = Examiner(values)
    shapes: Counter[str] = Counter()
    pairs = largest = 0
    skipped = False
    for position, candidate in enumerate(sets):
        n = length(candidate.points)
        cost = n * (n + 1) // 2
        spent = time.monotonic() - start
        if position > 0 and spent * (1 + cost / max(pairs, 1)) > seconds:
            skipped = True
            if spent > seconds:
                break
            continue
        try:
            found = examiner.examine(candidate.points, ordered=position < 2 or isinstance(values, KernelValues))
        except OutOfRangeError:
            continue
        except OutOfTimeError:
            skipped = True
            break
        if found is not None:
            return found, ""
        pairs += cost
        largest = max(largest, n)
        shapes[candidate.shape] += 1
    line = (
        f"search for a violation at points {where}: none beyond rounding in {shapes.total()} "
        f"set{'s' * (shapes.total() != 1)} of up to {largest} points ({', '.join(shapes)})"
    )
    return None, line + ("; others would have taken too long" if skipped else "")


def _wants_scalars(function: Callable[[Any, Any], Any]) -> bool:
    """Whether a function of one feature takes plain numbers but not arrays, as ``math.exp`` does."""
    try:
        function(np.array([0.5]), np.array([1.0]))
    except Exception:
        with suppress(Exception):
            function(0.5, 1.0)
            return True
    return False


def _check_dim(dim: object) -> int:
    if not is_whole(dim):
        raise ValueError(f"certify: dim is the number of features of a point, a whole number from 1 up; got {dim!r}")
    return int(dim)


def _check_sample(sample: Rows, most: int) -> Rows:
    if isinstance(sample, str | bytes) or not hasattr(sample, "__len__"):
        raise TypeError(f"certify: sample must be a collection of objects such as a list, got {type(sample).__name__}")
    n = length(sample)
    if n == 0:
        raise ValueError("certify: sample is empty; give at least one object")
    return sample if n <= most else pick(sample, np.arange(most) * n // most)

"""Are two samples from one distribution?  The maximum mean discrepancy against that of points dealt out again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mercer.arrays.place import Place
from mercer.arrays.tensors import host_array
from mercer.checks import check_count
from mercer.formula.data import Rows, length

from .discrepancy import TwoSamples
from .outcome import Outcome, compare, settle_ties
from .resampling import deal_again, draw_signs, make_generator
from .samples import (
    Kernels,
    check_level,
    check_two,
    default_kernels,
    join,
    make_gram,
    read_kernels,
)
from .whitening import ROUNDING, measure_whitened

LAG = 2.0  # times √n: shorter ones take series for more varied than they are

Null = Literal["permutation", "wild"]


@dataclass(frozen=True)
class MMDTest:
    """The two-sample test of the maximum mean discrepancy: whether X and Y come from one distribution.

    Under the hypothesis that they do, points could as well have been dealt out to the samples in any other way.  The
    p-value is the share of such ways whose discrepancy is as large, counted with the one that happened, so that the
    level holds for every number of points and permutations and every kernel.

    Parameters
    ----------
    kernel : Kernel or list of Kernel, optional
        On any objects.  Of several, each is taken as it is and with features whitened, so that directions that vary
        little count as much as those that vary most.  Each discrepancy is measured in deviations of its own
        permutations, and the soft maximum of all is compared with that of each permutation: the level is exact, and no
        data is set aside to choose a kernel.  If not given, five Gaussians of ¼ to 4 times the median distance of
        vectors.
    null : {"permutation", "wild"}, default="permutation"
        "wild" is for points that depend on those before them, such as time series: weights that vary slowly along each
        series stand for other samples, and the level holds for long series.
    n_permutations : int, default=999
        How many permutations, or draws of weights.  One product with the Gram matrix serves all of them.
    lag : float, optional
        With "wild", over how many points dependence fades to 1/e; 2√n if not given.
    level : float, default=0.05
        The p-value up to which the hypothesis is rejected.
    random_state : int, Generator, RandomState or None, default=None
        The seed.
    memory : int or str, optional
        Budget in bytes, or a text such as "2GB"; 60 % of what is free if not given.
    device : str or torch.device, optional
        Where to compute, such as "cuda"; tensors are computed with where they are.

    Examples
    --------
    Samples of the same mean and variance, of which one is a mixture:

    >>> import numpy as np
    >>> from mercer import MMDTest
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1))
    >>> Y = 0.9 * rng.choice([-1.0, 1.0], size=(200, 1)) + np.sqrt(1 - 0.81) * rng.normal(size=(200, 1))
    >>> outcome = MMDTest(random_state=0).test(X, Y)
    >>> outcome
    <rejected: X and Y come from one distribution (p = 0.001)>
    >>> outcome.kernel.length_scale < 1.0  # what differs is small
    True

    It takes whatever the kernel takes:

    >>> from mercer.kernels import Spectrum
    >>> MMDTest(Spectrum(2), random_state=0).test(["abab", "baba", "abba"] * 5, ["aabb", "bbaa", "aaab"] * 5).rejected
    True
    """

    kernel: Kernels = None
    null: Null = "permutation"
    n_permutations: int = 999
    lag: float | None = None
    level: float = 0.05
    random_state: Any = None
    memory: float | str | None = None
    device: Any = None

    def test(self, X: Rows, Y: Rows) -> Outcome:
        """Compare two samples.

        Parameters
        ----------
        X : collection of n objects
            A sample.
        Y : collection of m objects
            Another one, of the same kind.

        Returns
        -------
        Outcome
            With the unbiased discrepancy as ``statistic`` (with "wild" the biased one), of the kernel that stands out.
        """
        if self.null not in ("permutation", "wild"):
            raise ValueError(f"MMDTest: null must be 'permutation' or 'wild', got {self.null!r}")
        kernels = read_kernels("MMDTest", self.kernel)
        level, count = check_level("MMDTest", self.level), check_count("MMDTest", "n_permutations", self.n_permutations)
        X, Y = check_two("MMDTest", X, Y, None if kernels is None else kernels[0], 2)
        points, place = join(X, Y), Place.find(self.device, self.memory, X, Y)
        kernels = default_kernels("MMDTest", points) if kernels is None else kernels
        n, size, rng = length(X), length(points), make_generator(self.random_state)
        if self.null == "permutation":
            columns = deal_again(size, n, count, rng)
        else:
            columns = self._draw_weights(n, size - n, count, rng)
        rows, dealt = [], self.null == "permutation"
        forms = 2 if dealt and len(kernels) > 1 else 1  # of each kernel: as it is, and whitened
        for kernel in kernels:
            two = TwoSamples(make_gram(kernel, points, place), n)
            found = two.measure(columns) if dealt else np.asarray(host_array(two.gram.forms(columns)))
            epsilon = float(np.finfo(two.gram.dtype).eps)
            rows.append(settle_ties(found[None], two.size_of_sums() / math.sqrt(size), epsilon)[0])
            if forms > 1:
                found = measure_whitened(two.gram, columns, rng)
                rows.append(settle_ties(found[None], size / (n * (size - n)), ROUNDING)[0])
        table = np.array(rows)
        row, observed, null, p = compare(table)
        which = row // forms
        return Outcome(
            float(table[which * forms, 0]), p, observed, null, kernels[which], kernels,
            "X and Y come from one distribution", "MMD²", "permutations" if dealt else "draws of weights", level,
        )  # fmt: skip

    def _draw_weights(self, n: int, m: int, count: int, rng: np.random.Generator) -> np.ndarray:
        """Return weights of the observed statistic and of draws, in which features are centred over both samples."""
        sides = []
        for size in (n, m):
            lag = LAG * math.sqrt(size) if self.lag is None else self.lag
            drawn = draw_signs(size, count, lag, rng, "MMDTest")
            sides.append(np.column_stack([np.ones(size), drawn]) / size)
        weights = np.concatenate([sides[0], -sides[1]])
        return weights - weights.mean(axis=0) * (np.arange(1 + count) > 0)

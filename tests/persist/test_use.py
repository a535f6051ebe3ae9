"""Whatever a file holds, what loads can be used: wrong content is refused, or answered in our words."""

import signal

import pytest

import mercer
from mercer.formula.syntax import ExpressionError
from mercer.kernels import Fourier, GappedKmer, Linear, Polynomial, Spectrum, WeightedDegree, WeisfeilerLehman
from mercer.kernels.text import parse_kernel
from mercer.persist import ModelFileError
from mercer.persist._decode import Decoder

from .fuzzing import NAMES, Mutation, find_problems

EACH = 5  # changes of each model; tools/fuzz_models.py makes any number of them


def refuse(*_):
    raise TimeoutError("this takes too long")


@pytest.mark.parametrize("name", NAMES)
def test_what_loads_can_be_used(name):
    before, problems, refused = signal.signal(signal.SIGVTALRM, refuse), [], 0
    try:
        for number in range(4 * EACH):
            if number >= EACH and refused:
                break
            mutation = Mutation(name, number)
            signal.setitimer(signal.ITIMER_VIRTUAL, 10)  # of our own time: the machine may be busy
            try:
                problems += [(number, *found) for found in find_problems(mutation.load(), mutation.X)]
            except ModelFileError:
                refused += 1
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    assert problems == []
    assert refused > 0


@pytest.mark.parametrize(
    "kernel",
    [
        WeisfeilerLehman(10**9), Spectrum(10**15), Polynomial(10**6), Fourier(10**7), WeightedDegree(10**6),
        GappedKmer(40, 20), (Linear() ** 100) ** 100, Linear() + Polynomial(10**5), Polynomial(2, 10**60),
    ],
    ids=repr,
)  # fmt: skip
def test_files_and_texts_hold_no_kernel_that_takes_forever(kernel, tmp_path):
    with pytest.raises(ModelFileError):
        mercer.save(kernel, tmp_path / "kernel")
    if 10**60 not in kernel.get_params().values():  # which is read as a float
        with pytest.raises(ExpressionError):
            parse_kernel(repr(kernel))

    def describe(value):
        inside = value.get_params(deep=False)
        parts = {name: describe(part) if hasattr(part, "get_params") else part for name, part in inside.items()}
        parts = {name: {"int": hex(part)} if isinstance(part, int) else part for name, part in parts.items()}
        return {"type": type(value).__name__, "fields": parts}

    with pytest.raises(ModelFileError):
        Decoder({}, [], {}).value(describe(kernel))

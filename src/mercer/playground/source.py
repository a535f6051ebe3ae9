"""A state as a short Python script that makes the same model."""

from __future__ import annotations

import ast

from .composing import read_kernel
from .learners import LEARNERS
from .limits import round_number
from .state import State

WIDTH = 100  # characters of a line of numbers


def write_source(state: State) -> str:
    """Return a complete script: points, kernel, model, fit, and its score.

    Points have the digits that links have.  Nothing of the state is in it but numbers and the kernel as it was parsed.

    Examples
    --------
    >>> from mercer.playground.source import write_source
    >>> from mercer.playground.state import State
    >>> print(write_source(State("regression", [[0.0], [1.0], [3.0]], [1.0, 2.0, 0.5], kernel="2*linear")))
    import numpy as np
    <BLANKLINE>
    from mercer import KernelRidge
    from mercer.kernels import Linear
    <BLANKLINE>
    x = np.array([[0.0], [1.0], [3.0]])
    y = np.array([1.0, 2.0, 0.5])
    <BLANKLINE>
    kernel = 2.0 * Linear()
    model = KernelRidge(alpha=0.1, kernel=kernel, fit_intercept=True)
    model.fit(x, y)
    print(model.score(x, y))
    <BLANKLINE>
    """
    kernel, learner = repr(read_kernel(state.kernel, state.dim)), LEARNERS[state.learner]
    called = {node.id for node in ast.walk(ast.parse(kernel)) if isinstance(node, ast.Name)}
    line, built = learner.source(state.task, "kernel", state.values)
    rows = [f"[{', '.join(_write(value) for value in row)}]" for row in state.x.tolist()]
    return "\n".join(
        [
            "import numpy as np", "", line, f"from mercer.kernels import {', '.join(sorted(called - {'float'}))}", "",
            *_write_array("x", rows if rows else []), *_write_array("y", [_write(value) for value in state.y.tolist()]),
            "", f"kernel = {kernel}", f"model = {built}", *learner.write_fit(state.values), "",
        ]
    )  # fmt: skip


def _write(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(round_number(value))


def _write_array(name: str, parts: list[str]) -> list[str]:
    """Return the lines of an array, filled."""
    whole = f"{name} = np.array([{', '.join(parts)}])"
    if len(whole) <= WIDTH:
        return [whole]
    lines: list[str] = []
    line = "   "
    for part in parts:
        if len(line) + len(part) + 2 > WIDTH:
            lines, line = [*lines, line], "   "
        line += f" {part},"
    return [f"{name} = np.array([", *lines, line, "])"]

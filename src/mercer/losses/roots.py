"""Where increasing functions of single numbers change their sign: for proximal points and conjugates of all losses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.arrays import Array
from mercer.arrays.namespace import namespace

STRIDES = 500  # each four times as long as the one before, until a root is passed: from 1e-300 to the largest number
HALVINGS = 200  # of the intervals that roots are in; about a tenth of them if the function has no jumps
EPSILON, FINEST = 2.0**-52, 1e-30  # relative to a root, and to the first interval that it is in


def find_root(function: Callable[[Array], Array], start: Array, step: Array) -> Array:
    """Return where an increasing function changes its sign, for many functions at once.

    Strides from the start grow until the sign has changed.  The interval is then cut by Chandrupatla's rule: at the
    root of a parabola through three points where it can be trusted, and else in the middle, as at jumps.  Values that
    are no numbers, where formulas overflow, count as beyond the root.

    Parameters
    ----------
    function : function of an array of shape (n,)
        Values of the functions, each at a point of its own.
    start, step : array of shape (n,)
        Where to begin, and the length of the first stride.

    Returns
    -------
    array of shape (n,)
        The roots, to the last digits; at a jump over 0, the place of the jump.

    Examples
    --------
    >>> find_root(lambda z: z**3 - np.array([8.0, -27.0]), np.zeros(2), np.ones(2))
    array([ 2., -3.])
    """
    xp = namespace(start)

    def look(z: Array) -> Array:
        found = function(z)
        return xp.where(xp.isnan(found), xp.where(z > start, np.inf, -np.inf), found)

    with np.errstate(all="ignore"):
        a, value_a = start, look(start)
        towards = xp.where(value_a > 0, -1.0, 1.0)
        b = start + towards * step
        value_b = look(b)
        for _ in range(STRIDES):
            before = towards * value_b < 0
            if not bool(before.any()):
                break
            step = 4.0 * step
            a, value_a = xp.where(before, b, a), xp.where(before, value_b, value_a)
            b = xp.where(before, b + towards * step, b)
            value_b = look(b)
        share, finest = 0.0 * start + 0.5, FINEST * abs(b - a)
        for _ in range(HALVINGS):
            z = a + share * (b - a)
            value = look(z)
            same = (value > 0) == (value_a > 0)
            c, value_c = xp.where(same, a, b), xp.where(same, value_a, value_b)
            b, value_b = xp.where(same, b, a), xp.where(same, value_b, value_a)
            a, value_a = z, value
            best = xp.where(abs(value_a) < abs(value_b), a, b)
            least = (2.0 * EPSILON * abs(best) + finest) / abs(b - a)
            if bool(((least > 0.5) | (value_a == 0) | (value_b == 0)).all()):
                break
            share = _cut((a, b, c), (value_a, value_b, value_c), xp)
            share = xp.minimum(xp.maximum(share, least), 1.0 - least)
            share = xp.where(least < 0.5, share, 0.5)
    return xp.where(value_b == 0, b, xp.where(value_a == 0, a, best))


def _cut(points: tuple[Array, Array, Array], values: tuple[Array, Array, Array], xp: object) -> Array:
    """Return at which share of the way from the first point to the second the next one is."""
    (a, b, c), (at_a, at_b, at_c) = points, values
    place, height = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
    bent = at_a / (at_b - at_a) * at_c / (at_b - at_c)
    bent = bent + (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
    trusted = (height**2 < place) & ((1.0 - height) ** 2 < 1.0 - place) & (bent == bent)
    return xp.where(trusted, bent, 0.5)  # type: ignore[attr-defined]

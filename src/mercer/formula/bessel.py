"""The Matérn profile for any smoothness, without overflow: Bessel functions where they are tame, series elsewhere."""

from __future__ import annotations

import numpy as np

LARGE_ORDER = 60.0  # where five terms of the expansion for large orders are exact to about 1e-12
FAR = 1e4  # where the profile of every order below that is 0 in float64


def matern_profile(u: np.ndarray, nu: float) -> np.ndarray:
    """u^ν K_ν(u) / (2^(ν−1) Γ(ν)) for ν > 0, which falls from 1 at u = 0."""
    u = np.asarray(u, dtype=float)
    if nu >= LARGE_ORDER:
        return _large_order(u, nu)
    values = scaled_k(u, nu, nu)
    # K_ν overflows for tiny u, where two terms of the profile's power series are all there is.
    tiny = np.minimum(u, 1.0)
    series = 1.0 - (tiny * tiny / (4.0 * (nu - 1.0)) if nu > 1 else 0.0)
    return np.where((u > 0) & (values > 0) | (u > 1), values, series)


def matern_fall(u: np.ndarray, nu: float) -> np.ndarray:
    """1 − the Matérn profile, which near u = 0 is the integral of its slope rather than a difference."""
    u = np.asarray(u, dtype=float)
    fall = 1.0 - matern_profile(u, nu)
    near = fall < 0.5
    # With u s^p for the variable the slope, of order u^(2ν−1) near 0, is smooth enough for a Gauss rule.
    p = 4.0 / min(nu, 1.0)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    s = 0.5 * (nodes + 1.0)
    t = u[near][:, None] * s**p
    slope = t / (2.0 * (nu - 1.0)) * matern_profile(t, nu - 1.0) if nu > 1 else scaled_k(t, nu, nu - 1.0)
    fall[near] = u[near] * (slope @ (0.5 * weights * p * s ** (p - 1.0)))
    return fall


def scaled_k(u: np.ndarray, exponent: float, order: float) -> np.ndarray:
    """u^exponent K_order(u) / (2^(exponent−1) Γ(exponent)), and 0 where the Bessel function overflows or u is 0."""
    from scipy.special import gamma, kve

    safe = np.clip(u, np.finfo(float).tiny, FAR)
    with np.errstate(all="ignore"):
        values = safe**exponent * (kve(order, safe) * np.exp(-safe)) / (2.0 ** (exponent - 1.0) * gamma(exponent))
    return np.where((u > 0) & np.isfinite(values), values, 0.0)


def _large_order(u: np.ndarray, nu: float) -> np.ndarray:
    """Debye's uniform expansion, with the powers and factorials of the normalisation cancelled by hand."""
    z = np.minimum(u / nu, 1e150)
    w = np.hypot(1.0, z)
    excess = z * (z / (1.0 + w))  # w − 1
    exponent = nu * (np.log1p(excess / 2.0) - excess) - 0.5 * np.log(w)
    return np.exp(exponent) * _debye_sum(1.0 / w, nu) / _debye_sum(1.0, nu)


def _debye_sum(p: np.ndarray | float, nu: float) -> np.ndarray | float:
    """Σ (−1)^k u_k(p) / ν^k with the polynomials u_k of DLMF 10.41(ii)."""
    q = p * p
    u1 = p * (3 - 5 * q) / 24
    u2 = q * (81 - 462 * q + 385 * q**2) / 1152
    u3 = p * q * (30375 - 369603 * q + 765765 * q**2 - 425425 * q**3) / 414720
    u4 = q**2 * (4465125 - 94121676 * q + 349922430 * q**2 - 446185740 * q**3 + 185910725 * q**4) / 39813120
    return 1 - u1 / nu + u2 / nu**2 - u3 / nu**3 + u4 / nu**4

"""The inverse of the normal distribution, within 1e-12.

As Wichura's algorithm AS 241 (1988), with a rational function for the middle and one for the tails;
their coefficients were fitted in 60 digits by Lawson's iteration. With + - * / and square roots
alone, so that compiled code gives the same bits: the logarithm too is made of these.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]

# From the highest power down: numerator, denominator.
NORMAL_MIDDLE: Final = (
    (
        -1.1944577879678191e2,
        1.6341656801955446e3,
        5.841521331569575e3,
        4.126240725334335e3,
        1.0238248869831436e3,
        1.0098102541280734e2,
        3.3871328727958647e0,
    ),
    (
        1.912110031606302e3,
        3.5265098236027557e3,
        1.8411036256608932e3,
        3.78838588807949e2,
        3.2818385068127284e1,
        1.0,
    ),
)
"""Of 0.180625 - (p - 1/2)^2: the quantile of p by p - 1/2, within 5e-13."""
NORMAL_TAIL: Final = (
    (
        1.894116800771391e-3,
        5.827496022621153e-2,
        5.600921881026423e-1,
        2.3338979657283696e0,
        4.646422227010278e0,
        4.279500290428596e0,
        1.4234371107499828e0,
    ),
    (
        1.3392519321819435e-3,
        3.907622507896159e-2,
        3.3718896780570357e-1,
        1.1830981527366924e0,
        1.8067195113211847e0,
        1.0,
    ),
)
"""Of sqrt(-log(p)) - 1.6: minus the quantile of p, within 1.3e-13 down to 2^-53."""
LOG_TERMS: Final = (
    1.9364343362107378e-1,
    2.2191302235144839e-1,
    2.8571756233378684e-1,
    3.999999878685531e-1,
    6.666666666738463e-1,
)
"""Of s^2: (log((1 + s) / (1 - s)) - 2 s) / s^3, within 8e-12."""
LN2: Final = 6.93147180559945309417e-01
MIDDLE_WORD: Final = 2.0**51 - 0.5
"""What lies between both halves of the words."""
ROOT_HALF: Final = 0x3FE6_A09E_0000_0000
"""The bits of a float just below the square root of 1/2."""
NORMAL_EDGE: Final = 0.425
"""How far the middle goes from 1/2 to both sides."""


def normal_into(words: NDArray[np.uint64], out: Any, square: _Floats) -> None:
    """Write the quantiles at (word + 1/2) * 2^-52 for words below 2^52; all of the shape (n,).

    `square` is working memory; so are the words.
    """
    distance = words.view(np.float64)
    np.copyto(square, words.view(np.int64))
    square -= MIDDLE_WORD
    np.multiply(square, 2.0**-52, out=distance)
    np.multiply(distance, distance, out=square)
    tails = np.flatnonzero(square > NORMAL_EDGE * NORMAL_EDGE)
    outside = distance[tails]
    np.subtract(0.180625, square, out=square)
    is_plain = out.dtype == np.float64 and out.flags.c_contiguous
    found = _polynomial(square, NORMAL_MIDDLE[0], out if is_plain else None)
    found /= _polynomial(square, NORMAL_MIDDLE[1])
    found *= distance
    found[tails] = _tail(outside)
    if not is_plain:
        out[...] = found


def _tail(distance: _Floats) -> _Floats:
    """Return the quantiles so far from 1/2."""
    root = _minus_log(0.5 - np.abs(distance))
    np.sqrt(root, out=root)
    root -= 1.6
    found = _polynomial(root, NORMAL_TAIL[0])
    found /= _polynomial(root, NORMAL_TAIL[1])
    return np.copysign(found, distance, out=found)


def _polynomial(
    x: _Floats, coefficients: tuple[float, ...], out: _Floats | None = None
) -> _Floats:
    """Return c0 * x^k + c1 * x^(k - 1) + …, by Horner."""
    found: _Floats = np.multiply(x, coefficients[0], out=out)
    found += coefficients[1]
    for coefficient in coefficients[2:]:
        found *= x
        found += coefficient
    return found


def _minus_log(x: _Floats) -> _Floats:
    """Return minus the natural logarithm of numbers from 2^-60 to 1/2."""
    bits = x.view(np.int64)
    exponent = (bits - ROOT_HALF) >> 52
    f = (bits - (exponent << 52)).view(np.float64) - 1.0
    k = exponent.astype(np.float64)
    s = f + 2.0
    np.divide(f, s, out=s)
    z = s * s
    rest = _polynomial(z, LOG_TERMS)
    rest *= z
    half = f * f
    half *= 0.5
    rest += half
    s *= rest
    half -= s
    half -= f
    k *= LN2
    half -= k
    return half

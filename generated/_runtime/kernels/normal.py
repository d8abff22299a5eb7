"""The inverse of the normal distribution, by Wichura (1988), algorithm AS 241, PPND16.

With + - * / and square roots alone, so that compiled code gives the same bits: the logarithm too is
made of these (Sun's fdlibm, e_log.c).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]

# From the highest power down.
NORMAL_MIDDLE: Final = (
    (
        2.5090809287301226727e3,
        3.3430575583588128105e4,
        6.7265770927008700853e4,
        4.5921953931549871457e4,
        1.3731693765509461125e4,
        1.9715909503065514427e3,
        1.3314166789178437745e2,
        3.3871328727963666080e0,
    ),
    (
        5.2264952788528545610e3,
        2.8729085735721942674e4,
        3.9307895800092710610e4,
        2.1213794301586595867e4,
        5.3941960214247511077e3,
        6.8718700749205790830e2,
        4.2313330701600911252e1,
        1.0,
    ),
)
NORMAL_NEAR: Final = (
    (
        7.74545014278341407640e-4,
        2.27238449892691845833e-2,
        2.41780725177450611770e-1,
        1.27045825245236838258e0,
        3.64784832476320460504e0,
        5.76949722146069140550e0,
        4.63033784615654529590e0,
        1.42343711074968357734e0,
    ),
    (
        1.05075007164441684324e-9,
        5.47593808499534494600e-4,
        1.51986665636164571966e-2,
        1.48103976427480074590e-1,
        6.89767334985100004550e-1,
        1.67638483018380384940e0,
        2.05319162663775882187e0,
        1.0,
    ),
)
NORMAL_FAR: Final = (
    (
        2.01033439929228813265e-7,
        2.71155556874348757815e-5,
        1.24266094738807843860e-3,
        2.65321895265761230930e-2,
        2.96560571828504891230e-1,
        1.78482653991729133580e0,
        5.46378491116411436990e0,
        6.65790464350110377720e0,
    ),
    (
        2.04426310338993978564e-15,
        1.42151175831644588870e-7,
        1.84631831751005468180e-5,
        7.86869131145613259100e-4,
        1.48753612908506148525e-2,
        1.36929880922735805310e-1,
        5.99832206555887937690e-1,
        1.0,
    ),
)
LOG_TERMS: Final = (
    1.479819860511658591e-1,
    1.531383769920937332e-1,
    1.818357216161805012e-1,
    2.222219843214978396e-1,
    2.857142874366239149e-1,
    3.999999999940941908e-1,
    6.666666666666735130e-1,
)
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
    root = np.sqrt(_minus_log(0.5 - np.abs(distance)))
    found = _ratio(root - 1.6, NORMAL_NEAR)
    far = np.flatnonzero(root > 5.0)
    if len(far):
        found[far] = _ratio(root[far] - 5.0, NORMAL_FAR)
    return np.copysign(found, distance)


def _ratio(
    x: _Floats, coefficients: tuple[tuple[float, ...], tuple[float, ...]]
) -> _Floats:
    """Return the quotient of two polynomials."""
    found = _polynomial(x, coefficients[0])
    found /= _polynomial(x, coefficients[1])
    return found


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
    """Return minus the natural logarithm of numbers from 2^-60 to 1, within two ulp."""
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

"""Normal numbers from a counter: Philox's random words, then the formula of Box and Muller, compiled by Numba.

Number i of call c in step s of a run is a function of (the run's key, s, c, i): there is no state to keep, and
the loop has no order, so a processor makes sixteen numbers at once. It takes a fifth of the time of torch's
``normal_`` (which spends most of it on the uniform numbers of a Mersenne twister), and BGD needs a million a step.
Whoever changes a number here raises ``PHILOX_VERSION`` in `noise_kernels`.
"""

import math

import numpy as np
from numba import float32, int32, njit, uint32, uint64
from numpy.polynomial import Chebyshev, Polynomial


@njit(inline="always")
def words(c0, c1, c2, c3, k0, k1):
    """Philox4x32 with 10 rounds (Salmon et al., 2011): a counter of four words and a key of two to four random words.

    All are uint32. It is the generator that torch uses on a GPU.
    """
    for _ in range(10):
        a, b = uint64(0xD2511F53) * uint64(c0), uint64(0xCD9E8D57) * uint64(c2)
        c0, c1, c2, c3 = uint32(b >> uint64(32)) ^ c1 ^ k0, uint32(b), uint32(a >> uint64(32)) ^ c3 ^ k1, uint32(a)
        k0, k1 = uint32(k0 + uint32(0x9E3779B9)), uint32(k1 + uint32(0xBB67AE85))
    return c0, c1, c2, c3


def _polynomial(function, low: float, high: float, degree: int) -> tuple:
    """Coefficients, from the constant on, of a polynomial that is the function up to float32's accuracy."""
    fitted = Chebyshev.interpolate(function, degree, domain=[low, high]).convert(kind=Polynomial)
    return tuple(np.float32(c) for c in fitted.coef)


# Compiled calls of log, sin and cos would be made one number at a time; polynomials are not.
_LOG = _polynomial(lambda x: -2 * np.log(1.5 + x), -0.5, 0.5, 9)  #: -2 ln m, m = 1.5 + x in 1 to 2
_SINE = _polynomial(lambda t: 2 * np.pi * np.sinc(2 * np.sqrt(np.maximum(t, 0))), 0, 1 / 16, 5)  #: sin(2πw) / w, t = w²
_MINUS_LOG_4 = np.float32(-2 * math.log(2))


@njit(inline="always")
def _horner(coefficients, x):
    value = coefficients[-1]
    for power in range(len(coefficients) - 2, -1, -1):
        value = value * x + coefficients[power]
    return value


@njit(inline="always")
def normal_pair(a, b):
    """Two random words to two independent normal numbers: √(-2 ln u) times cos 2πv and sin 2πv.

    u = (a' + ½) / 2³¹ with a' the upper 31 bits of a, so it is never 0; v = b / 2³², taken from -½ to ½.
    """
    bits = np.float32(float32(int32(a >> uint32(1))) + float32(0.5)).view(np.int32)
    exponent = float32((bits >> int32(23)) - int32(127 + 31))
    mantissa = np.int32((bits & int32(0x7FFFFF)) | int32(0x3F800000)).view(np.float32)
    # Near u = 1 the sum of the two may be a hair below 0.
    square = exponent * _MINUS_LOG_4 + _horner(_LOG, mantissa - float32(1.5))
    radius = math.sqrt(max(square, float32(0)))
    v = float32(int32(b)) * float32(2**-32)
    # Both as the sine of an angle within a quarter turn.
    for_cosine = float32(0.25) - abs(v)
    for_sine = math.copysign(float32(0.25) - abs(abs(v) - float32(0.25)), v)
    cosine = for_cosine * _horner(_SINE, for_cosine * for_cosine)
    sine = for_sine * _horner(_SINE, for_sine * for_sine)
    return radius * cosine, radius * sine


@njit(fastmath=True, nogil=True, cache=True)
def fill(out, key, step, call):
    """Fill ``out`` (float32 ``[n]``) with normal numbers. key: uint32 ``[2]``."""
    quarter = out.size // 4
    k0, k1, c1, c2, c3 = uint32(key[0]), uint32(key[1]), uint32(call), uint32(step), uint32(step >> 32)
    for i in range(quarter):
        w0, w1, w2, w3 = words(uint32(i), c1, c2, c3, k0, k1)
        out[i], out[quarter + i] = normal_pair(w0, w1)
        out[2 * quarter + i], out[3 * quarter + i] = normal_pair(w2, w3)
    w0, w1, w2, w3 = words(uint32(quarter), c1, c2, c3, k0, k1)
    rest = (*normal_pair(w0, w1), *normal_pair(w2, w3))
    for i in range(out.size - 4 * quarter):
        out[4 * quarter + i] = rest[i]

"""The loops of `CompiledNoise`, compiled by Numba: normal numbers, and the layers of one network with noise on it.

Everything stands in this one file because Numba's cache of compiled code notices changes of the file only.

A layer is worked through in blocks of ten rows of its weights, all passes for each block, so that a block stays in
the first cache from its noise to the sums. Noise is drawn twice, forward and backward: memory would take longer to
give it back. Arrays are filled up with zeros to whole blocks of rows and samples and whole vectors of columns
(`padded`): the loops need no special cases, and zeros add nothing.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import float32, int32, njit, uint32, uint64
from numpy.polynomial import Chebyshev, Polynomial

from tacl_lib.engine.compiling import compiled

TEN = 10  #: rows of a block, and terms of a sum that `_product` adds in one go: the paper's batch
LANES = 80  #: streams of random words that advance together; ten rows of any padded width are made in whole turns
#: What may be reordered for speed. NaN and infinity are left alone, unlike in Numba's fastmath=True.
FAST = {"reassoc", "contract", "nsz", "arcp"}


def padded(count: int) -> int:
    """At least ``count``, in whole vectors of 16 numbers and with room for whole blocks of ten."""
    return -(-math.ceil(count / TEN) * TEN // 16) * 16


# ---- normal numbers


@njit
def _mixed(z):
    """The finaliser of SplitMix64 (Steele et al., 2014): a one-to-one function that scatters 64 bits."""
    z = (z ^ (z >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
    return z ^ (z >> uint64(31))


@compiled(nogil=True)
def seed(state, key, step, call):
    """Start the streams of one call in one step of a run: state uint32 ``[4, LANES]``, key uint64."""
    golden = uint64(0x9E3779B97F4A7C15)
    z = _mixed(_mixed(uint64(key) + golden * uint64(step)) + golden * uint64(call))
    for lane in range(LANES):
        for half in range(0, 4, 2):
            z += golden
            word = _mixed(z)
            state[half, lane], state[half + 1, lane] = uint32(word), uint32(word >> uint64(32))


@njit(inline="always")
def _rotated(x, by):
    return uint32(x << uint32(by)) | uint32(x >> uint32(32 - by))


@njit(inline="always")
def advance(a, b, c, d):
    """One step of xoshiro128++ (Blackman and Vigna, 2021): its word, and the four words of its new state."""
    word = uint32(_rotated(uint32(a + d), 7) + a)
    shifted = uint32(b << uint32(9))
    c, d = c ^ a, d ^ b
    b, a = b ^ c, a ^ d
    return word, a, b, c ^ shifted, _rotated(d, 11)


def _polynomial(function, low: float, high: float, degree: int) -> tuple:
    """Coefficients, from the constant on, of a polynomial that is the function nearly up to float32's accuracy."""
    fitted = Chebyshev.interpolate(function, degree, domain=[low, high]).convert(kind=Polynomial)
    return tuple(np.float32(c) for c in fitted.coef)


# Compiled calls of log, sin and cos would be made one number at a time; polynomials are not.
_LOG = _polynomial(lambda x: -2 * np.log(1.5 + x), -0.5, 0.5, 7)  #: -2 ln m, m = 1.5 + x in 1 to 2
_SINE = _polynomial(lambda t: 2 * np.pi * np.sinc(2 * np.sqrt(np.maximum(t, 0))), 0, 1 / 16, 3)  #: sin(2πw) / w, t = w²
_MINUS_LOG_4 = np.float32(-2 * math.log(2))


@njit(inline="always")
def _horner(coefficients, x):
    value = coefficients[-1]
    for power in range(len(coefficients) - 2, -1, -1):
        value = value * x + coefficients[power]
    return value


@njit(inline="always")
def normal_pair(a, b):
    """Two random words to two independent normal numbers (Box and Muller): √(-2 ln u) times cos 2πv and sin 2πv.

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


@compiled(fastmath=FAST, nogil=True)
def fill(out, state):
    """Fill ``out`` (float32, whole turns of 2 LANES) with the next normal numbers of the streams."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    for at in range(0, out.size, 2 * LANES):
        one, other = out[at : at + LANES], out[at + LANES : at + 2 * LANES]
        for j in range(LANES):
            first, a, b, c, d = advance(s0[j], s1[j], s2[j], s3[j])
            second, s0[j], s1[j], s2[j], s3[j] = advance(a, b, c, d)
            one[j], other[j] = normal_pair(first, second)


# ---- a block of rows


@njit(fastmath=FAST)
def _gather(all_rows, chosen, block):
    """Copy rows into a block; the rest of it is 0."""
    block[:] = 0
    for row in range(len(chosen)):
        source, target = all_rows[chosen[row]], block[row]
        for j in range(len(source)):
            target[j] = source[j]


@njit(fastmath=FAST)
def _product(factors, vectors, out):
    """out[i] += Σ_t factors[i, t] vectors[t]; t in whole tens, written out so that a sum is stored once in ten."""
    for t in range(0, len(vectors), TEN):
        v0, v1, v2, v3, v4 = vectors[t], vectors[t + 1], vectors[t + 2], vectors[t + 3], vectors[t + 4]
        v5, v6, v7, v8, v9 = vectors[t + 5], vectors[t + 6], vectors[t + 7], vectors[t + 8], vectors[t + 9]
        for i in range(len(out)):
            x, o = factors[i, t : t + TEN], out[i]
            x0, x1, x2, x3, x4, x5, x6, x7, x8, x9 = x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9]
            for j in range(len(o)):
                o[j] += (x0 * v0[j] + x1 * v1[j] + x2 * v2[j] + x3 * v3[j] + x4 * v4[j]) + (
                    x5 * v5[j] + x6 * v6[j] + x7 * v7[j] + x8 * v8[j] + x9 * v9[j]
                )


@njit(fastmath=FAST)
def _noise_product(factors, vectors, noise, out):
    """As `_product`, each sum times its noise."""
    for t in range(0, len(vectors), TEN):
        v0, v1, v2, v3, v4 = vectors[t], vectors[t + 1], vectors[t + 2], vectors[t + 3], vectors[t + 4]
        v5, v6, v7, v8, v9 = vectors[t + 5], vectors[t + 6], vectors[t + 7], vectors[t + 8], vectors[t + 9]
        for i in range(len(out)):
            x, o, e = factors[i, t : t + TEN], out[i], noise[i]
            x0, x1, x2, x3, x4, x5, x6, x7, x8, x9 = x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9]
            for j in range(len(o)):
                o[j] += e[j] * (
                    (x0 * v0[j] + x1 * v1[j] + x2 * v2[j] + x3 * v3[j] + x4 * v4[j])
                    + (x5 * v5[j] + x6 * v6[j] + x7 * v7[j] + x8 * v8[j] + x9 * v9[j])
                )


@njit(fastmath=FAST)
def _dots(vectors, block, out):
    """out[n, row] = vectors[n] · block[row]: derivatives by the inputs of a block."""
    w0, w1, w2, w3, w4 = block[0], block[1], block[2], block[3], block[4]
    w5, w6, w7, w8, w9 = block[5], block[6], block[7], block[8], block[9]
    for n in range(len(vectors)):
        v, o = vectors[n], out[n]
        t0 = t1 = t2 = t3 = t4 = t5 = t6 = t7 = t8 = t9 = float32(0)
        for j in range(len(v)):
            x = v[j]
            t0, t1, t2, t3, t4 = t0 + x * w0[j], t1 + x * w1[j], t2 + x * w2[j], t3 + x * w3[j], t4 + x * w4[j]
            t5, t6, t7, t8, t9 = t5 + x * w5[j], t6 + x * w6[j], t7 + x * w7[j], t8 + x * w8[j], t9 + x * w9[j]
        o[0], o[1], o[2], o[3], o[4], o[5], o[6], o[7], o[8], o[9] = t0, t1, t2, t3, t4, t5, t6, t7, t8, t9


@njit(fastmath=FAST)
def _through_relu(given, back):
    """Derivatives by what went into a ReLU, from those by what came out of it."""
    for k in range(len(back)):
        g, b = given[k].reshape(-1), back[k].reshape(-1)
        for i in range(b.size):
            b[i] = b[i] if g[i] > 0 else float32(0)


@njit(fastmath=FAST)
def _weigh(mean, std, noise, out):
    """w = μ + ε σ."""
    for i in range(out.size):
        out[i] = mean[i] + std[i] * noise[i]


@njit(fastmath=FAST)
def _move(mean, std, gradient, gradient_noise, rate):
    """The step of BGD for one row: `NoisyWeights.move`."""
    for j in range(len(mean)):
        s = std[j]
        half = float32(0.5) * s * gradient_noise[j]
        mean[j] -= rate * s * s * gradient[j]
        std[j] = s * (np.sqrt(float32(1) + half * half) - half)


# ---- a layer


class Weights(NamedTuple):
    """One layer of one run."""

    mean: np.ndarray  #: μ ``[rows, width]``
    bias: np.ndarray  #: ``[1, width]``
    std: np.ndarray  #: σ
    bias_std: np.ndarray


class Inputs(NamedTuple):
    """What goes into a layer."""

    rows: np.ndarray  #: inputs that differ within the batch
    given: np.ndarray  #: their values ``[passes or 1, n, rows]``
    same: np.ndarray  #: inputs that do not, without those that are 0
    values: np.ndarray  #: theirs, and at the end the 1 of the bias


class Room(NamedTuple):
    """Places to work in, used again in every step."""

    block: np.ndarray  #: ``[6, 10, width]``
    spread: np.ndarray  #: S ``[passes, width]``: see `CompiledNoise`
    states: np.ndarray  #: uint32 ``[passes, 4, LANES]``


class Source(NamedTuple):
    """Names the noise of a layer in a step: call + k is that of pass k; those of S and ν come after."""

    key: np.uint64  #: of the run
    step: int
    call: int


@compiled(fastmath=FAST, nogil=True)
def forward(weights, inputs, room, source, out):
    """Fill ``out [passes, n, width]`` with what weights w = μ + ε σ make of their inputs, ε of its own for each pass.

    Returns V ``[width]``, which `backward` needs.
    """
    m, s, noise, w = room.block[0], room.block[1], room.block[2].reshape(-1), room.block[3]
    out[:] = 0
    for k in range(len(out)):
        seed(room.states[k], source.key, source.step, source.call + k)
    for start in range(0, len(inputs.rows), TEN):
        chosen = inputs.rows[start : start + TEN]
        _gather(weights.mean, chosen, m)
        _gather(weights.std, chosen, s)
        for k in range(len(out)):
            fill(noise, room.states[k])
            _weigh(m.reshape(-1), s.reshape(-1), noise, w.reshape(-1))
            _product(inputs.given[k % len(inputs.given)][:, start : start + TEN], w, out[k])
    return _forward_same(weights, inputs, room, source, out)


@compiled(fastmath=FAST, nogil=True)
def backward(weights, inputs, room, source, variance, delta, back, rate):
    """Move the weights. delta ``[passes, n, width]``: derivatives by what came out of `forward`.

    back ``[passes, n, rows]``: filled with the derivatives by ``inputs.given``; none are made if it is empty.
    """
    m, s, noise, w = room.block[0], room.block[1], room.block[2], room.block[3]
    total, total_noise = room.block[4], room.block[5]
    over_passes = np.zeros(delta.shape[1:], np.float32)
    for k in range(len(delta)):
        over_passes += delta[k]
        seed(room.states[k], source.key, source.step, source.call + k)
    for start in range(0, len(inputs.rows), TEN):
        chosen = inputs.rows[start : start + TEN]
        _gather(weights.mean, chosen, m)
        _gather(weights.std, chosen, s)
        total[:] = 0
        total_noise[:] = 0
        for k in range(len(delta)):
            fill(noise.reshape(-1), room.states[k])
            given = inputs.given[k % len(inputs.given)][:, start : start + TEN].T
            _noise_product(given, delta[k], noise, total_noise)
            if len(inputs.given) > 1:
                _product(given, delta[k], total)
            if len(back):
                _weigh(m.reshape(-1), s.reshape(-1), noise.reshape(-1), w.reshape(-1))
                _dots(delta[k], w, back[k][:, start : start + TEN])
        if len(inputs.given) == 1:  # the passes share their inputs, so one product does for all
            _product(inputs.given[0][:, start : start + TEN].T, over_passes, total)
        for row in range(len(chosen)):
            _move(weights.mean[chosen[row]], weights.std[chosen[row]], total[row], total_noise[row], rate)
    _move_same(weights, inputs, room, source, variance, delta, rate)
    _through_relu(inputs.given, back)


# ---- inputs that are the same in the whole batch: see `CompiledNoise`


@njit
def _same_row(weights, inputs, i):
    """μ and σ behind input i of them; the last is the bias."""
    if i < len(inputs.same):
        return weights.mean[inputs.same[i]], weights.std[inputs.same[i]]
    return weights.bias[0], weights.bias_std[0]


@njit(fastmath=FAST)
def _forward_same(weights, inputs, room, source, out):
    """Add Σ c μ + S to ``out``; returns V."""
    passes, samples = out.shape[:2]
    width, spread = weights.mean.shape[1], room.spread
    shift, variance = np.zeros(width, np.float32), np.zeros(width, np.float32)
    for i in range(len(inputs.values)):
        (m, s), c = _same_row(weights, inputs, i), inputs.values[i]
        for j in range(width):
            shift[j] += c * m[j]
            variance[j] += (c * s[j]) * (c * s[j])
    seed(room.states[0], source.key, source.step, source.call + passes)
    fill(spread.reshape(-1), room.states[0])
    for k in range(passes):
        for j in range(width):
            spread[k, j] *= np.sqrt(variance[j])
        for n in range(samples):
            for j in range(width):
                out[k, n, j] += shift[j] + spread[k, j]
    return variance


@njit(fastmath=FAST)
def _move_same(weights, inputs, room, source, variance, delta, rate):
    passes, samples, width = len(delta), delta.shape[1], weights.mean.shape[1]
    total, square, along = np.zeros(width, np.float32), np.zeros(width, np.float32), np.zeros(width, np.float32)
    for k in range(passes):
        for j in range(width):
            d = float32(0)
            for n in range(samples):
                d += delta[k, n, j]
            total[j] += d
            square[j] += d * d
            along[j] += d * room.spread[k, j]
    noise, gradient, gradient_noise = room.block[0], room.block[1, 0], room.block[1, 1]
    for moves in (False, True):  # first Σ D S - Σ a ν; then, with the same ν, the rows move
        seed(room.states[0], source.key, source.step, source.call + passes + 1)
        for i in range(len(inputs.values)):
            if i % TEN == 0:
                fill(noise.reshape(-1), room.states[0])
            (m, s), c, unit = _same_row(weights, inputs, i), inputs.values[i], noise[i % TEN]
            for j in range(width):
                nu = np.sqrt(square[j]) * unit[j]
                if not moves:
                    along[j] -= c * s[j] * nu
                gradient[j] = c * total[j]
                # V is 0 where all σ are.
                gradient_noise[j] = c * (nu + c * s[j] * along[j] / max(variance[j], float32(1e-30)))
            if moves:
                _move(m, s, gradient, gradient_noise, rate)

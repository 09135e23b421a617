"""The loops of `CompiledNoise`: draws of one network, forward and backward, over parts that fit the cache.

Arrays of a network come as tuples: weights of every layer, then biases, each ``[rows, width]``.
"""

import numpy as np
from numba import njit

from tacl_lib.engine import philox

#: To be raised with every change of `philox`: its code is compiled into the loops below, but the cache of compiled
#: loops only notices changes of this file.
PHILOX_VERSION = 1
DRAWN_ROWS = 8  #: rows of a weight matrix that are drawn and used in one go
SUMMED_ROWS = 32  #: rows of a weight matrix whose sums are made in one go


@njit(fastmath=True, nogil=True, cache=True)
def forward(means, stds, noise, units, images, moving, still, spread, key, step):
    """Draw ε for every pass, and let the images through the networks with weights w = μ + ε σ.

    noise: filled, ``[passes, rows, width]`` for each piece. units: filled with what comes out of each layer,
    ``[passes, n, width]``. images ``[n, features]``; moving, still: their columns that differ within the batch, and
    those that do not and are not 0. spread ``[passes, width]``: filled with S. Returns V ``[width]`` (`CompiledNoise`).
    """
    layers, pieces = len(units), len(means) + 2
    count = len(images)
    ones, only, variance = np.ones((1, count, 1), np.float32), np.zeros(1, np.int64), np.zeros(0, np.float32)
    given, rows = _columns(images, moving), moving
    for layer in range(layers):
        out = units[layer]
        out[:] = 0
        _draw(means[layer], stds[layer], rows, noise[layer], given, out, key, step, layer, pieces)
        bias = layers + layer  # a weight of an input that is always 1
        _draw(means[bias], stds[bias], only, noise[bias], ones, out, key, step, bias, pieces)
        if layer == 0 and len(still):
            values = images[0][still]
            variance = _draw_still(means[0], stds[0], still, values, spread, out, key, step, pieces - 2, pieces)
        if layer < layers - 1:
            _rectify(out)
            given, rows = out, np.arange(out.shape[2])
    return variance


@njit(fastmath=True, nogil=True, cache=True)
def backward(means, stds, noise, units, images, moving, still, spread, variance, delta, sums, noise_sums, key, step):
    """Write the sums over all passes of g and of g ε. delta ``[passes, n, classes]``: derivatives by the logits."""
    layers, pieces = len(units), len(means) + 2
    passes, count = delta.shape[:2]
    ones, only = np.ones((1, count, 1), np.float32), np.zeros(1, np.int64)
    for layer in range(layers - 1, -1, -1):
        bias = layers + layer
        noise_sums[layer][:] = 0
        noise_sums[bias][:] = 0
        if layer:
            given, rows = units[layer - 1], np.arange(units[layer - 1].shape[2])
            _product(given, delta, sums[layer])
        else:  # all passes share the images, so their deltas can be added up before the product
            given, rows = _columns(images, moving), moving
            _product(images.reshape(1, count, -1), _over_passes(delta), sums[0])
        _product(ones, _over_passes(delta), sums[bias])
        _sum(rows, noise[layer], given, delta, noise_sums[layer])
        _sum(only, noise[bias], ones, delta, noise_sums[bias])
        if layer:
            back = np.empty_like(given)
            _back(means[layer], stds[layer], noise[layer], delta, back)
            for k in range(passes):
                for n in range(count):
                    for row in range(back.shape[2]):
                        back[k, n, row] = back[k, n, row] if given[k, n, row] > 0 else np.float32(0)
            delta = back
        elif len(still):
            values = images[0][still]
            of_still = (stds[0], still, values, spread, variance, delta, noise_sums[0])
            _sum_still(*of_still, key, step, pieces - 1, pieces)


@njit(nogil=True, cache=True)
def move(mean, std, gradient, gradient_noise, rate):
    """`NoisyWeights.move` in one pass. Compiled without fastmath, for which there is no NaN."""
    for i in range(len(mean)):
        s = std[i]
        half = np.float32(0.5) * s * gradient_noise[i]
        mean[i] -= rate * s * s * gradient[i]
        std[i] = s * (np.sqrt(np.float32(1) + half * half) - half)


@njit(cache=True)
def _columns(images, chosen):
    """Some pixels of all images, ``[1, n, chosen]``: the same for every pass."""
    out = np.empty((1, len(images), len(chosen)), np.float32)
    for n in range(len(images)):
        for c in range(len(chosen)):
            out[0, n, c] = images[n, chosen[c]]
    return out


@njit(nogil=True, cache=True)
def _rectify(units):
    """ReLU in place. Compiled without fastmath, for which there is no NaN: one must come out as it went in."""
    flat = units.reshape(-1)
    for i in range(len(flat)):
        flat[i] = np.float32(0) if flat[i] < 0 else flat[i]


@njit(fastmath=True, nogil=True, cache=True)
def _over_passes(delta):
    """The sum over the passes: ``[passes, n, width]`` to ``[1, n, width]``."""
    total = np.zeros((1, *delta.shape[1:]), np.float32)
    for k in range(len(delta)):
        total[0] += delta[k]
    return total


@njit(fastmath=True, nogil=True, cache=True)
def _product(given, delta, out):
    """givenᵀ δ, summed over the passes, into out ``[rows, width]``. given ``[passes, n, rows]``, delta as in `_sum`."""
    passes, samples, width = delta.shape
    out[:] = 0
    for row in range(len(out)):
        t = out[row]
        for k in range(passes):
            d, inputs = delta[k], given[k]
            n = 0
            while n + 10 <= samples:  # written out: see `_draw`
                d0, d1, d2, d3, d4 = d[n], d[n + 1], d[n + 2], d[n + 3], d[n + 4]
                d5, d6, d7, d8, d9 = d[n + 5], d[n + 6], d[n + 7], d[n + 8], d[n + 9]
                x = inputs[n : n + 10, row]
                x0, x1, x2, x3, x4, x5, x6, x7, x8, x9 = x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9]
                for j in range(width):
                    t[j] += (x0 * d0[j] + x1 * d1[j] + x2 * d2[j] + x3 * d3[j] + x4 * d4[j]) + (
                        x5 * d5[j] + x6 * d6[j] + x7 * d7[j] + x8 * d8[j] + x9 * d9[j]
                    )
                n += 10
            while n < samples:
                for j in range(width):
                    t[j] += inputs[n, row] * d[n, j]
                n += 1


@njit(inline="always")
def _call(k, piece, pieces, chunk):
    """The number of a call of `philox.fill` in a step: one for each pass, piece of the parameters and chunk of rows."""
    return ((k * pieces + piece) << 16) + chunk


@njit(fastmath=True, nogil=True, cache=True)
def _draw(mean, std, rows, noise, given, out, key, step, piece, pieces):
    """Draw ε for every pass, and add what weights w = μ + ε σ make of their inputs.

    mean, std ``[all, width]``; rows: those in use; noise ``[passes, rows, width]``, filled;
    given ``[passes or 1, n, rows]``; out ``[passes, n, width]``.
    """
    passes, width, count = noise.shape[0], noise.shape[2], len(rows)
    drawn = np.empty((DRAWN_ROWS, width), np.float32)
    w0, w1, w2, w3, w4, w5, w6, w7 = drawn[0], drawn[1], drawn[2], drawn[3], drawn[4], drawn[5], drawn[6], drawn[7]
    for start in range(0, count, DRAWN_ROWS):
        stop = min(start + DRAWN_ROWS, count)
        for k in range(passes):
            philox.fill(noise[k, start:stop].reshape(-1), key, step, _call(k, piece, pieces, start // DRAWN_ROWS))
            for row in range(start, stop):
                e, m, s, w = noise[k, row], mean[rows[row]], std[rows[row]], drawn[row - start]
                for j in range(width):
                    w[j] = m[j] + e[j] * s[j]
            inputs = given[k % len(given)]
            for n in range(out.shape[1]):
                x, o = inputs[n, start:stop], out[k, n]
                if len(x) == DRAWN_ROWS:  # written out, so that a sum is loaded and stored once instead of eight times
                    x0, x1, x2, x3, x4, x5, x6, x7 = x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]
                    for j in range(width):
                        o[j] += (x0 * w0[j] + x1 * w1[j] + x2 * w2[j] + x3 * w3[j]) + (
                            x4 * w4[j] + x5 * w5[j] + x6 * w6[j] + x7 * w7[j]
                        )
                else:
                    for row in range(len(x)):
                        for j in range(width):
                            o[j] += x[row] * drawn[row, j]


@njit(fastmath=True, nogil=True, cache=True)
def _sum(rows, noise, given, delta, total):
    """Add g ε of every pass, where g = givenᵀ δ. delta ``[passes, n, width]``, total ``[all, width]``; see `_draw`."""
    passes, width, count = noise.shape[0], noise.shape[2], len(rows)
    samples = delta.shape[1]
    for start in range(0, count, SUMMED_ROWS):
        for k in range(passes):
            inputs, d = given[k % len(given)], delta[k]
            for row in range(start, min(start + SUMMED_ROWS, count)):
                e, t = noise[k, row], total[rows[row]]
                n = 0
                while n + 10 <= samples:  # the paper's batches, written out: see `_draw`
                    d0, d1, d2, d3, d4 = d[n], d[n + 1], d[n + 2], d[n + 3], d[n + 4]
                    d5, d6, d7, d8, d9 = d[n + 5], d[n + 6], d[n + 7], d[n + 8], d[n + 9]
                    x = inputs[n : n + 10, row]
                    x0, x1, x2, x3, x4, x5, x6, x7, x8, x9 = x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9]
                    for j in range(width):
                        t[j] += e[j] * (
                            (x0 * d0[j] + x1 * d1[j] + x2 * d2[j] + x3 * d3[j] + x4 * d4[j])
                            + (x5 * d5[j] + x6 * d6[j] + x7 * d7[j] + x8 * d8[j] + x9 * d9[j])
                        )
                    n += 10
                while n < samples:
                    for j in range(width):
                        t[j] += e[j] * inputs[n, row] * d[n, j]
                    n += 1


@njit(fastmath=True, nogil=True, cache=True)
def _back(mean, std, noise, delta, out):
    """Derivatives by the inputs, δ wᵀ, of every pass: ``[passes, n, rows]``; see `_draw`."""
    passes, rows, width = noise.shape
    w = np.empty(width, np.float32)
    for k in range(passes):
        for row in range(rows):
            m, e, s = mean[row], noise[k, row], std[row]
            for j in range(width):
                w[j] = m[j] + e[j] * s[j]
            for n in range(delta.shape[1]):
                d, total = delta[k, n], np.float32(0)
                for j in range(width):
                    total += d[j] * w[j]
                out[k, n, row] = total


@njit(fastmath=True, nogil=True, cache=True)
def _draw_still(mean, std, rows, values, spread, out, key, step, piece, pieces):
    """Draw S for every pass into ``spread [passes, width]``, and add Σ c μ + S to all outputs; returns V ``[width]``.

    rows ``[m]``: inputs that are the same in the whole batch, values ``[m]``: c. See `CompiledNoise`.
    """
    passes, samples, width = out.shape
    shift, variance = np.zeros(width, np.float32), np.zeros(width, np.float32)
    for row in range(len(rows)):
        m, s, c = mean[rows[row]], std[rows[row]], values[row]
        for j in range(width):
            shift[j] += c * m[j]
            variance[j] += (c * s[j]) * (c * s[j])
    for k in range(passes):
        philox.fill(spread[k], key, step, _call(k, piece, pieces, 0))
        for j in range(width):
            spread[k, j] *= np.sqrt(variance[j])
            for n in range(samples):
                out[k, n, j] += shift[j] + spread[k, j]
    return variance


@njit(fastmath=True, nogil=True, cache=True)
def _sum_still(std, rows, values, spread, variance, delta, total, key, step, piece, pieces):
    """Add Σ_k g ε for the inputs of `_draw_still`, see `CompiledNoise`."""
    passes, samples, width = delta.shape
    square, along = np.zeros(width, np.float32), np.zeros(width, np.float32)  # Σ D², Σ D S - Σ a ν
    for k in range(passes):
        for j in range(width):
            d = np.float32(0)
            for n in range(samples):
                d += delta[k, n, j]
            square[j] += d * d
            along[j] += d * spread[k, j]
    noise = np.empty(width, np.float32)
    for row in range(len(rows)):
        philox.fill(noise, key, step, _call(0, piece, pieces, row))
        s, c, t = std[rows[row]], values[row], total[rows[row]]
        for j in range(width):
            t[j] = noise[j] * np.sqrt(square[j])  # ν
            along[j] -= c * s[j] * t[j]
    for row in range(len(rows)):
        s, c, t = std[rows[row]], values[row], total[rows[row]]
        for j in range(width):
            t[j] = c * (t[j] + c * s[j] * along[j] / max(variance[j], np.float32(1e-30)))  # V is 0 where all σ are

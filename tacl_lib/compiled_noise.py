"""`NoisyWeights` for a CPU: noise, drawn weights and their sums in compiled loops over parts that fit the cache."""

import numpy as np
import torch
from numba import njit

from tacl_lib import philox
from tacl_lib.network import Network, cross_entropy
from tacl_lib.noisy_weights import NoisyWeights
from tacl_lib.randomness import generator

DRAWN_ROWS = 8  #: rows of a weight matrix that are drawn and used in one go
SUMMED_ROWS = 32  #: rows of a weight matrix whose sums are made in one go


class CompiledNoise(NoisyWeights):
    """Noise from a counter (`philox`); one run after the other, and all passes over a few rows of weights together.

    Five networks with their noise are 24 MB: tensor by tensor, a step of BGD waits for memory most of the time. And
    inputs that are the same in the whole batch, as half of MNIST's pixels are, need no noise for each pass. Let i run
    over them, c_i be their values, a_i = c_i σ_i and V = Σ a_i² (for one unit of the first layer). In pass k they add
    S_k = Σ a_i ε_ik ~ N(0, V) to the unit, and their gradients are c_i D_k, D_k = Σ δ. So S_k is drawn at once, and
    what ε has left, given S_k, is needed in one sum only: with ν_i ~ N(0, Σ D_k²),
        Σ_k g_ik ε_ik = c_i (ν_i + a_i (Σ_k D_k S_k - Σ_i a_i ν_i) / V)
    has the same distribution as with noise for each pass. Behind inputs that are 0, weights neither act nor learn.
    """

    _place = np.empty(0, np.float32)

    def begin(self, step: int) -> None:
        self.step, self._calls = step, [0] * len(self.seeds)

    def normal(self, run: int, tensor: torch.Tensor) -> None:
        philox.fill(tensor.view(-1).numpy(), self._generators[run], self.step, self._calls[run])
        self._calls[run] += 1

    def expectations(self, mean: Network, std: torch.Tensor, x, y, weight: float, passes: int):
        gradient, gradient_noise = self.buffers(2, std)
        gradient_noise.zero_()
        losses = torch.empty(mean.runs)
        for run in range(mean.runs):
            views = [[v[run] for v in mean.views(flat)] for flat in (mean.flat, std, gradient, gradient_noise)]
            losses[run] = self._one_run(self._generators[run], *views, x[run], y[run], weight, passes)
        return losses, gradient, gradient_noise

    def _one_run(self, key, mean, std, gradient, gradient_noise, x, y, weight, passes) -> torch.Tensor:
        """Write the sums of one run; returns that of its losses. All lists: weights of each layer, then biases."""
        layers, count = len(mean) // 2, len(x)
        means, stds, noise_sums = ([t.numpy() for t in tensors] for tensors in (mean, std, gradient_noise))
        same = (x == x[0]).all(0).numpy()
        moving, still = np.flatnonzero(~same), np.flatnonzero(same & (x[0].numpy() != 0))
        rows = [moving, *(np.arange(len(piece)) for piece in means[1:])]
        noise = self._noise(passes, [(len(r), piece.shape[1]) for r, piece in zip(rows, means, strict=True)])
        # A bias is a weight of an input that is always 1.
        inputs, ones = [x.unsqueeze(0)], np.ones((1, count, 1), np.float32)
        moving_x, still_x = np.ascontiguousarray(x.numpy()[None, :, moving]), x[0].numpy()[still]
        spread = np.empty((passes, mean[0].shape[1]), np.float32)

        def call(piece: int) -> tuple:
            return key, self.step, piece, len(mean) + 2

        for layer in range(layers):
            out = torch.zeros(passes, count, mean[layer].shape[1])
            for piece, given in ((layer, inputs[-1].numpy() if layer else moving_x), (layers + layer, ones)):
                _draw(means[piece], stds[piece], rows[piece], noise[piece], given, out.numpy(), *call(piece))
            if layer == 0 and len(still):
                variance = _draw_still(means[0], stds[0], still, still_x, spread, out.numpy(), *call(len(mean)))
            inputs.append(out.relu_() if layer < layers - 1 else out)

        losses, delta = cross_entropy(inputs.pop(), y.expand(passes, -1), weight)
        for layer in range(layers - 1, -1, -1):
            for piece, given in ((layer, inputs[layer].numpy() if layer else moving_x), (layers + layer, ones)):
                _sum(rows[piece], noise[piece], given, delta.numpy(), noise_sums[piece])
            if layer == 0 and len(still):
                of_still = (stds[0], still, still_x, spread, variance, delta.numpy(), noise_sums[0])
                _sum_still(*of_still, *call(len(mean) + 1))
            # All passes share the images, so in the first layer their deltas can be added up before the product.
            terms = (inputs[layer], delta) if layer else (x, delta.sum(0))
            left, right = (t.reshape(-1, t.shape[-1]) for t in terms)
            torch.mm(left.mT, right, out=gradient[layer])
            torch.sum(right, 0, keepdim=True, out=gradient[layers + layer])
            if layer:
                back = torch.empty_like(inputs[layer])
                _back(means[layer], stds[layer], noise[layer], delta.numpy(), back.numpy())
                delta = back.mul_(inputs[layer].sign())
        return losses.sum()

    def _noise(self, passes: int, shapes: list[tuple[int, int]]) -> list[np.ndarray]:
        """A place for the noise of one run, used again for all: ``[passes, rows, width]`` for each piece."""
        sizes = [passes * rows * width for rows, width in shapes]
        if len(self._place) < sum(sizes):
            self._place = np.empty(sum(sizes), np.float32)
        parts = np.split(self._place[: sum(sizes)], np.cumsum(sizes)[:-1])
        return [part.reshape(passes, *shape) for part, shape in zip(parts, shapes, strict=True)]

    def _random_numbers(self, device: torch.device | str) -> list:
        return [generator(seed, "noise").integers(2**32, size=2, dtype=np.uint32) for seed in self.seeds]


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
    passes, count, width = noise.shape
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
    passes, count, width = noise.shape
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

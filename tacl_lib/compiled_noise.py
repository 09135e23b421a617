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

    Five networks with their noise are 24 MB. Tensor by tensor, a step of BGD would wait for memory most of the time;
    so it takes less than half of the time.
    """

    _place = np.empty(0, np.float32)

    def begin(self, step: int) -> None:
        self.step, self._calls = step, [0] * len(self.seeds)

    def normal(self, run: int, tensor: torch.Tensor) -> None:
        philox.fill(tensor.view(-1).numpy(), self._generators[run], self.step, self._calls[run])
        self._calls[run] += 1

    def expectations(self, mean: Network, std: torch.Tensor, x, y, weight: float, passes: int, counts=None):
        gradient, gradient_noise = self.buffers(2, std)
        gradient_noise.zero_()
        losses = torch.empty(mean.runs)
        for run in range(mean.runs):
            views = [[v[run] for v in mean.views(flat)] for flat in (mean.flat, std, gradient, gradient_noise)]
            used = None if counts is None else counts[run]
            losses[run] = self._one_run(run, *views, x[run], y[run], weight, passes, used)
        return losses, gradient, gradient_noise

    def _one_run(self, run, mean, std, gradient, gradient_noise, x, y, weight, passes, used) -> torch.Tensor:
        """Write the sums of one run; returns that of its losses. All lists: weights of each layer, then biases."""
        layers, count = len(mean) // 2, len(x)
        # A bias is a weight of an input that is always 1.
        inputs, ones = [x.unsqueeze(0)], np.ones((1, count, 1), np.float32)
        pieces = [[t.numpy() for t in tensors] for tensors in (mean, std, gradient_noise)]
        first = np.ascontiguousarray(x[None, :, :used])
        if used is not None:
            pieces = [[arrays[0][:used], *arrays[1:]] for arrays in pieces]
        mean_pieces, std_pieces, sum_pieces = pieces
        noise = self._noise(passes, [piece.shape for piece in mean_pieces])

        for layer in range(layers):
            out = torch.zeros(passes, count, mean[layer].shape[1])
            for piece, given in ((layer, inputs[-1].numpy() if layer else first), (layers + layer, ones)):
                of_piece = (mean_pieces[piece], std_pieces[piece], noise[piece])
                _draw(*of_piece, given, out.numpy(), self._generators[run], self.step, piece, len(mean))
            inputs.append(out.relu_() if layer < layers - 1 else out)

        losses, delta = cross_entropy(inputs.pop(), y.expand(passes, -1), weight)
        for layer in range(layers - 1, -1, -1):
            given = inputs[layer].numpy() if layer else first
            _sum(noise[layer], given, delta.numpy(), sum_pieces[layer])
            _sum(noise[layers + layer], ones, delta.numpy(), sum_pieces[layers + layer])
            # All passes share the images, so in the first layer their deltas can be added up before the product.
            terms = (inputs[layer], delta) if layer else (x, delta.sum(0))
            left, right = (t.reshape(-1, t.shape[-1]) for t in terms)
            torch.mm(left.mT, right, out=gradient[layer])
            torch.sum(right, 0, keepdim=True, out=gradient[layers + layer])
            if layer:
                back = torch.empty_like(inputs[layer])
                _back(mean_pieces[layer], std_pieces[layer], noise[layer], delta.numpy(), back.numpy())
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


@njit(fastmath=True, nogil=True, cache=True)
def _draw(mean, std, noise, given, out, key, step, piece, pieces):
    """Draw ε for every pass, and add what weights w = μ + ε σ make of their inputs.

    mean, std ``[rows, width]``; noise ``[passes, rows, width]``, filled; given ``[passes or 1, n, rows]``;
    out ``[passes, n, width]``. Rows c · DRAWN_ROWS and on of a pass have a call of their own: (pass, piece, c).
    """
    passes, rows, width = noise.shape
    drawn = np.empty((DRAWN_ROWS, width), np.float32)
    w0, w1, w2, w3, w4, w5, w6, w7 = drawn[0], drawn[1], drawn[2], drawn[3], drawn[4], drawn[5], drawn[6], drawn[7]
    w = drawn.reshape(-1)
    for start in range(0, rows, DRAWN_ROWS):
        stop = min(start + DRAWN_ROWS, rows)
        m, s = mean[start:stop].reshape(-1), std[start:stop].reshape(-1)
        for k in range(passes):
            e = noise[k, start:stop].reshape(-1)
            philox.fill(e, key, step, ((k * pieces + piece) << 16) + start // DRAWN_ROWS)
            for i in range(len(e)):
                w[i] = m[i] + e[i] * s[i]
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
def _sum(noise, given, delta, total):
    """Add g ε of every pass, where g = givenᵀ δ. delta ``[passes, n, width]``, total ``[rows, width]``; see `_draw`."""
    passes, rows, width = noise.shape
    count = delta.shape[1]
    for start in range(0, rows, SUMMED_ROWS):
        for k in range(passes):
            inputs, d = given[k % len(given)], delta[k]
            for row in range(start, min(start + SUMMED_ROWS, rows)):
                e, t = noise[k, row], total[row]
                n = 0
                while n + 10 <= count:  # the paper's batches, written out: see `_draw`
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
                while n < count:
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

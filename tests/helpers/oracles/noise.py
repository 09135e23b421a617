"""BGD with the compiled noise in float64: SplitMix64, xoshiro128++, the inverse normal, ε of every single weight."""

import numpy as np
from scipy.special import ndtri

MASK64, MASK32 = 2**64 - 1, 2**32 - 1
GOLDEN = 0x9E3779B97F4A7C15


def mixed(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
    return z ^ (z >> 31)


def rotated(x, by):
    return ((x << by) | (x >> (32 - by))) & MASK32


def advance(state):
    """The next word of xoshiro128++ and its new state, in plain integers."""
    a, b, c, d = state
    word = (rotated((a + d) & MASK32, 7) + a) & MASK32
    t = (b << 9) & MASK32
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    return word, (a, b, c ^ t, rotated(d, 11))


def normal(words):
    """uint32 words to normal numbers: what has a share p = |word| / 2³² above it, the word with a sign."""
    signed = np.asarray(words, np.uint32).view(np.int32).astype(float)
    p = np.abs(signed) / 2**32
    return np.where(signed < 0, 1, -1) * ndtri(np.where(p == 0, 2.0**-31, p))


class Normals:
    """The numbers of one call: turns of 32, one of each stream."""

    def __init__(self, key, step, call):
        z = mixed((mixed((key + GOLDEN * step) & MASK64) + GOLDEN * call) & MASK64)
        words = [mixed((z + GOLDEN * i) & MASK64) for i in range(1, 65)]
        halves = np.reshape([half for word in words for half in (word & MASK32, word >> 32)], (4, 32))
        self.states = [tuple(map(int, state)) for state in halves.T]

    def turn(self):
        words = []
        for lane, state in enumerate(self.states):
            word, self.states[lane] = advance(state)
            words.append(word)
        return normal(words)

    def rows(self, count, columns):
        """``[count, columns]``, from whole turns."""
        turns = [self.turn() for _ in range(-(-count * columns // 32))]
        return np.concatenate(turns)[: count * columns].reshape(count, columns)


def layer_noise(key, step, layer, passes, rows, same, width):
    """ε ``[passes, rows, width]``, and unit noise for S ``[passes, width]`` and ν ``[same, width]``."""
    strips = []
    for strip in range(0, -(-width // 16), 2):
        columns = 16 * min(2, -(-width // 16) - strip)

        def part(number, strip=strip):
            return Normals(key, step, layer << 48 | strip << 32 | number)

        tiles = []
        for tile, start in enumerate(range(0, rows, 64)):
            noise = part(2 + tile)
            tiles.append([noise.rows(min(64, rows - start), columns) for _ in range(passes)])
        eps = np.concatenate(tiles, axis=1) if tiles else np.zeros((passes, 0, columns))
        strips.append((eps, part(0).rows(passes, columns), part(1).rows(same, columns)))
    return tuple(np.concatenate(parts, axis=-1)[..., :width] for parts in zip(*strips, strict=True))


def bgd_step(means, stds, x, y, key, step, passes, weight, rate):
    """One step of one run: new means and stds (weights of every layer, then biases, ``[1, out]``), and the loss."""
    layers = len(means) // 2
    # Each bias as the last row of its weights, with an input that is 1.
    mu, sigma = ([np.vstack([m[i], m[layers + i]]).astype(float) for i in range(layers)] for m in (means, stds))
    one = np.ones((len(x), 1))
    draws, left = [[None] * layers for _ in range(passes)], []
    given = [np.hstack([x, one])] * passes
    inputs = []
    for layer in range(layers):
        width = mu[layer].shape[1]
        constant = (given[0] == given[0][0]).all(0) if layer == 0 else np.arange(len(mu[layer])) == len(mu[layer]) - 1
        moving, same = np.flatnonzero(~constant), np.flatnonzero(constant & (given[0][0] != 0))
        c = given[0][0][same][:, None]
        a = c * sigma[layer][same]
        variance = (a**2).sum(0)
        noise, spread, unit = layer_noise(key, step, layer, passes, len(moving), len(same), width)
        spread = spread * np.sqrt(variance)
        out = []
        for k in range(passes):
            eps = np.zeros_like(mu[layer])
            eps[moving] = noise[k]
            eps[same] = a * spread[k] / variance
            draws[k][layer] = eps
            out.append(given[k] @ (mu[layer] + eps * sigma[layer]))
        left.append((same, a, variance, unit))
        inputs.append(given)
        if layer < layers - 1:
            given = [np.hstack([np.maximum(o, 0), one]) for o in out]
    loss, deltas = 0.0, []
    for logits in out:
        p = np.exp(logits - logits.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        loss -= weight * np.log(p[np.arange(len(y)), y]).sum()
        deltas.append(weight * (p - np.eye(p.shape[1])[y]))
    for layer in range(layers - 1, -1, -1):
        same, a, variance, unit = left[layer]
        over_batch = np.array([delta.sum(0) for delta in deltas])
        square = (over_batch**2).sum(0)
        nu = np.sqrt(square) * unit
        total, total_eps, before = 0, 0, []
        for k, delta in enumerate(deltas):
            eps = draws[k][layer]
            # What the forward pass left open: noise that its outputs did not depend on.
            eps[same] += np.divide(over_batch[k], square, where=square > 0, out=np.zeros_like(square)) * (
                nu - a * (a * nu).sum(0) / variance
            )
            g = inputs[layer][k].T @ delta
            total, total_eps = total + g, total_eps + g * eps
            if layer:
                w = (mu[layer] + eps * sigma[layer])[:-1]
                before.append(delta @ w.T * (inputs[layer][k][:, :-1] > 0))
        deltas = before
        half = 0.5 * sigma[layer] * total_eps
        mu[layer] = mu[layer] - rate * sigma[layer] ** 2 * total
        sigma[layer] = sigma[layer] * (np.sqrt(1 + half**2) - half)
    split = [[m[:-1] for m in new] + [m[-1:] for m in new] for new in (mu, sigma)]
    return *split, loss

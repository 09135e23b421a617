"""BGD with the compiled noise in float64: SplitMix64, xoshiro128++, Box and Muller, and ε of every single weight."""

import math

import numpy as np

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


def pair(first, second):
    """Two words to two normal numbers."""
    radius = math.sqrt(-2 * math.log(((first >> 1) + 0.5) / 2**31))
    angle = 2 * math.pi * second / 2**32
    return radius * math.cos(angle), radius * math.sin(angle)


class Normals:
    """The numbers of one call: turns of 160, each of 80 streams gives one of the first and one of the last 80."""

    def __init__(self, key, step, call):
        z = mixed((mixed((key + GOLDEN * step) & MASK64) + GOLDEN * call) & MASK64)
        self.states = []
        for _ in range(80):
            one, other = (z + GOLDEN) & MASK64, (z + 2 * GOLDEN) & MASK64
            z = other
            one, other = mixed(one), mixed(other)
            self.states.append((one & MASK32, one >> 32, other & MASK32, other >> 32))

    def turn(self):
        pairs = []
        for lane, state in enumerate(self.states):
            first, state = advance(state)
            second, self.states[lane] = advance(state)
            pairs.append(pair(first, second))
        return [p[0] for p in pairs] + [p[1] for p in pairs]

    def rows(self, count, width):
        """``[count, width]``, from whole blocks of ten rows that are padded to vectors of sixteen columns."""
        padded = -(-(-(-width // 10) * 10) // 16) * 16
        blocks = -(-count // 10)
        numbers = [number for _ in range(blocks * padded // 16) for number in self.turn()]
        return np.reshape(numbers, (blocks * 10, padded))[:count, :width]


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
        width, call = mu[layer].shape[1], layer * (passes + 2)
        constant = (given[0] == given[0][0]).all(0) if layer == 0 else np.arange(len(mu[layer])) == len(mu[layer]) - 1
        moving, same = np.flatnonzero(~constant), np.flatnonzero(constant & (given[0][0] != 0))
        c = given[0][0][same][:, None]
        a = c * sigma[layer][same]
        variance = (a**2).sum(0)
        spread = Normals(key, step, call + passes).rows(passes, width) * np.sqrt(variance)
        unit = Normals(key, step, call + passes + 1).rows(len(same), width)
        out = []
        for k in range(passes):
            eps = np.zeros_like(mu[layer])
            eps[moving] = Normals(key, step, call + k).rows(len(moving), width)
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

"""SGD, A-GEM and BGD in JAX, in an environment of its own: makes so many steps on request and says how long they took.

Run as a script by `jax_env`; imports nothing of the kit. One line of JSON comes in per block,
``{"method": "sgd", "steps": 100}``, one goes out. It is what a strong engineer would write instead of the kit: a step
of one run, `vmap` over runs, `lax.scan` over steps, `jit` over all of it.
"""

import json
import os
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
from jax import random, tree

PLAN = json.loads(sys.argv[1])
SIZES, RUNS, BATCH = PLAN["sizes"], PLAN["runs"], PLAN["batch"]
RATE, REFERENCE, STORED, PASSES, CHUNK = 1e-3, 10, 300, 10, 10


def parameters(key):
    keys = random.split(key, len(SIZES) - 1)
    shapes = zip(keys, SIZES[:-1], SIZES[1:], strict=True)
    return [(random.uniform(k, (a, b), minval=-1, maxval=1) / a**0.5, jnp.zeros(b)) for k, a, b in shapes]


def loss(weights, x, y):
    for w, b in weights[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = weights[-1]
    return -jnp.take_along_axis(jax.nn.log_softmax(x @ w + b), y[:, None], 1).mean()


def sgd(state, key, x, y, memory):
    return tree.map(lambda w, g: w - RATE * g, state, jax.grad(loss)(state, x, y))


def agem(state, key, x, y, memory):
    rows = random.randint(key, (REFERENCE,), 0, STORED)
    g, ref = jax.grad(loss)(state, x, y), jax.grad(loss)(state, memory[0][rows], memory[1][rows])

    def dot(a, b):
        return sum(jnp.vdot(u, v) for u, v in zip(tree.leaves(a), tree.leaves(b), strict=True))

    share = jnp.minimum(dot(g, ref), 0) / dot(ref, ref)
    return tree.map(lambda w, a, b: w - RATE * (a - share * b), state, g, ref)


def bgd(state, key, x, y, memory):
    mean, std = state
    leaves, shape = tree.flatten(mean)

    def draw(sums, k):
        keys = random.split(k, len(leaves))
        noise = shape.unflatten([random.normal(a, v.shape) for a, v in zip(keys, leaves, strict=True)])
        g = jax.grad(loss)(tree.map(lambda m, s, e: m + s * e, mean, std, noise), x, y)
        both = (g, tree.map(jnp.multiply, g, noise))
        return tree.map(lambda total, part: total + part * BATCH / PASSES, sums, both), None

    zero = tree.map(jnp.zeros_like, mean)
    (g, g_noise), _ = jax.lax.scan(draw, (zero, zero), random.split(key, PASSES))
    half = tree.map(lambda s, e: s * e / 2, std, g_noise)
    mean = tree.map(lambda m, s, a: m - s * s * a, mean, std, g)
    return mean, tree.map(lambda s, h: s * (jnp.sqrt(1 + h * h) - h), std, half)


def program(step):
    """``CHUNK`` steps of all runs in one call."""

    def chunk(states, key, x, y, memory):
        def one(states, given):
            return jax.vmap(step)(states, random.split(given[0], RUNS), *given[1:], memory), None

        return jax.lax.scan(one, states, (random.split(key, CHUNK), x, y))[0]

    return jax.jit(chunk, donate_argnums=0)


def main() -> None:
    keys = random.split(random.key(0), 5)
    x = random.uniform(keys[0], (CHUNK, RUNS, BATCH, SIZES[0]))
    y = random.randint(keys[1], (CHUNK, RUNS, BATCH), 0, SIZES[-1])
    memory = random.uniform(keys[2], (RUNS, STORED, SIZES[0])), random.randint(keys[3], (RUNS, STORED), 0, SIZES[-1])

    def first(method):
        weights = jax.vmap(parameters)(random.split(keys[4], RUNS))
        return (weights, tree.map(lambda w: jnp.full_like(w, 0.02), weights)) if method == "bgd" else weights

    programs = {step.__name__: program(step) for step in (sgd, agem, bgd)}
    states = {}
    print(json.dumps({"jax": jax.__version__}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        method, chunks = request["method"], -(-request["steps"] // CHUNK)
        if method not in states:
            states[method] = programs[method](first(method), keys[0], x, y, memory)
        jax.block_until_ready(states[method])
        start = time.perf_counter()
        for number in range(chunks):
            states[method] = programs[method](states[method], random.fold_in(keys[1], number), x, y, memory)
        jax.block_until_ready(states[method])
        seconds = (time.perf_counter() - start) * request["steps"] / (chunks * CHUNK)
        print(json.dumps({"seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()

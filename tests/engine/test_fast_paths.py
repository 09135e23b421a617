"""All that the engine does faster, over hundreds of steps: the loops in C against torch's own products, a run in a
stack against the same run alone, and a run that was saved against one that was not."""

import io

import pytest
import torch

from tacl_lib.core.learners import TaskAwareLearner, make_learner
from tacl_lib.engine import compiled, sample_pool
from tacl_lib.engine.mlp import Mlp

needs_compiler = pytest.mark.skipif(compiled.library() is None, reason="no C compiler here")
SEEDS, SIZES, STEPS = (3, 14, 15), (70, 40, 33, 5), 200
#: name, settings: A-GEM by pairs of samples (10 are drawn) and with a pool of samples (40)
METHODS = [
    ("sgd", {}),
    ("sgd_lr_adapt", {}),
    ("agem", {"reference_batch": 10, "samples_per_task": 30}),
    ("agem", {"reference_batch": 40, "samples_per_task": 30}),
    ("ta_agem", {"reference_batch": 10, "clusters": 4}),
    ("ta_agem", {"reference_batch": 40, "clusters": 4}),
    ("ogd", {"samples_per_task": 15}),
    ("ta_ogd", {"clusters": 10}),
]
#: whose noise is another one without the loops: `test_noisy_weights` compares it with float64
BGD = ("bgd", {"passes": 3})


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(sample_pool, "RENEWAL", 50)
    yield
    torch.set_num_threads(threads)


def batches():
    """Three tasks: each shifts the means of the classes, so that gradients come into conflict."""
    random = torch.Generator().manual_seed(0)
    means = torch.randn(3, SIZES[-1], SIZES[0], generator=random)
    for number in range(STEPS):
        y = torch.randint(SIZES[-1], (len(SEEDS), 10), generator=random)
        noise = torch.randn(len(SEEDS), 10, SIZES[0], generator=random)
        yield means[number * 3 // STEPS][y] + 0.5 * noise, y


def made(name, settings, seeds=SEEDS):
    rate = {"eta": 1.0} if name == "bgd" else {"rate": 0.02}
    return make_learner(name, Mlp(seeds, SIZES), **rate, **settings)


def driven(learner, runs=slice(None), start=0, stop=STEPS):
    """The learner after steps ``start`` to ``stop`` of the stream, and how often a gradient was projected."""
    projected = 0
    with torch.inference_mode():
        for number, (x, y) in enumerate(batches()):
            if not start <= number < stop:
                continue
            step = learner.step(x[runs], y[runs])
            projected += 0 if step.projected is None else int(step.projected.sum())
            if isinstance(learner, TaskAwareLearner) and number in (66, 133):
                kept = learner.samples_per_task
                learner.end_task(x[runs].repeat(1, 3, 1)[:, :kept], y[runs].repeat(1, 3)[:, :kept])
    return projected


def weights(learner):
    with torch.inference_mode():
        return torch.stack([learner.network.vector(run) for run in range(learner.network.runs)])


@needs_compiler
@pytest.mark.parametrize(("name", "settings"), METHODS)
def test_the_loops_in_c_make_the_steps_of_torch(name, settings, monkeypatch):
    """To 0.001 of the largest weight after 200 steps: what rounding does to a loss may turn a unit or a rate."""
    fast = made(name, settings)
    first, counted = weights(fast), driven(fast)
    monkeypatch.setattr(compiled, "library", lambda: None)
    plain = made(name, settings)
    assert driven(plain) == counted
    assert counted >= 10 or name.startswith("sgd")
    largest = weights(plain).abs().max()
    assert (weights(fast) - weights(plain)).abs().max() < 1e-3 * largest
    assert (weights(fast) - first).abs().max() > 0.05 * largest  # they have gone somewhere


@pytest.mark.parametrize(("name", "settings"), [*METHODS, BGD])
def test_a_run_in_a_stack_is_the_run_alone_to_the_last_bit(name, settings):
    stack = made(name, settings)
    driven(stack)
    together = weights(stack)
    for run, seed in enumerate(SEEDS):
        alone = made(name, settings, [seed])
        driven(alone, slice(run, run + 1))
        assert torch.equal(weights(alone)[0], together[run])


@pytest.mark.parametrize("cut", [1, 49, 64, 131, 199])
@pytest.mark.parametrize(("name", "settings"), [*METHODS, BGD])
def test_a_run_that_was_saved_at_any_step_ends_with_the_same_bits(name, settings, cut):
    whole, begun, resumed = made(name, settings), made(name, settings), made(name, settings)
    driven(whole)
    driven(begun, stop=cut)
    file = io.BytesIO()
    torch.save(begun.state(), file)
    file.seek(0)
    resumed.load_state(torch.load(file, weights_only=True))
    driven(resumed, start=cut)
    assert torch.equal(weights(resumed), weights(whole))

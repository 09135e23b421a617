"""Shared by the tests of runs and report: runs of a second, and what it means that two are the same."""

from dataclasses import replace

import numpy as np

from tacl_lib.runs import RunSpec

TINY = RunSpec(
    "digits",
    "class",
    "disjoint",
    "ta_agem",
    {"rate": 0.05, "clusters": 3},
    hidden=(8,),
    epochs=2,
    train_limit=20,
    test_limit=10,
)
PLAIN = replace(TINY, learner="sgd", learner_settings={"rate": 0.05})
SEEDS = (0, 3)


def assert_same(one, other):
    """The measured numbers are the same to the last bit; times and versions may differ."""
    assert one.seed == other.seed
    for name in ("accuracy", "seen", "memory"):
        a, b = getattr(one, name), getattr(other, name)
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes(), name
    for name in one.epochs:
        assert one.epochs[name].to_numpy().tobytes() == other.epochs[name].to_numpy().tobytes(), name
    assert (one.events is None) == (other.events is None)
    if one.events is not None:
        for name, column in one.events.columns().items():
            assert np.array_equal(column, other.events.columns()[name]), name

"""The kit's plugins in Avalanche's own loop, in an environment of its own that the bench shares."""

import json
import os
import subprocess
from functools import cache
from pathlib import Path

import pytest
from bench.avalanche_env import VERSION
from bench.environments import prepared

from tacl_lib.errors import TaclError

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.network]


@cache
def environment() -> Path:
    try:
        return prepared(ROOT / "build" / "avalanche-venv", f"avalanche-lib=={VERSION}")
    except TaclError as error:
        pytest.skip(str(error))


def answer(name: str):
    command = [environment(), ROOT / "tests" / "helpers" / "avalanche_run.py", name]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)[name]


@pytest.mark.parametrize(("name", "most"), [("ta_agem", 5e-6), ("ta_ogd", 5e-6), ("ogd", 5e-6), ("bgd", 0.0)])
def test_a_hundred_steps_are_those_of_the_kit(name, most):
    """The same batches in two experiences. BGD moves the weights itself, so they are equal to the last bit; the others
    go through torch's optimiser, which rounds on its own. SGD on these batches ends far away: there is a difference."""
    found = answer(name)
    assert found["apart"] <= most
    assert found["moved"] > 1e-3
    if name != "bgd":
        assert found["from_sgd"] > 1e-2
        assert found["memory"]
        assert found["held"] >= 12


def test_a_stream_without_boundaries():
    """Avalanche's linear decay: each experience is a bit of two tasks. The memory fills, and forgetting is less."""
    found = answer("drift")
    assert found["experiences"] > 50
    assert found["held"] > 50
    assert found["ta_agem"] > found["sgd"] + 0.03


def test_a_storage_policy_for_avalanche_s_replay():
    found = answer("replay")
    assert 60 <= found["held"] <= 120
    assert found["clusters"] > found["naive"] + 0.03


def test_the_optimiser_is_the_user_s_own():
    assert answer("adam") > 1e-3

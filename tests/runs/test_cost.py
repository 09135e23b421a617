"""The weights of jobs against what the reference runs really took."""

from collections import defaultdict

import pytest

from tacl_lib.runs.cost import work
from tacl_lib.runs.grid import Job
from tacl_lib.runs.profiles import PROFILES
from tacl_lib.runs.store import REFERENCE, Store

SGD_STEP = 0.25e-3  #: seconds on the machine of the first reference runs; their records do not name the processor yet


@pytest.fixture(scope="module")
def ratios():
    """By method: expected over measured seconds of every stack of reference runs at the paper's settings."""
    found, paper = defaultdict(list), PROFILES["paper"]
    for spec, _, info in Store(REFERENCE).descriptions():
        on_another = info.get("cpu") is not None
        if not on_another and paper.spec(spec.dataset, spec.split, spec.experiment, spec.learner).name() == spec.name():
            stack = Job(spec, tuple(range(info["runs_in_stack"])))
            found[spec.learner].append(SGD_STEP * work(stack) / info["wall_seconds_of_stack"])
    return found


def test_weights_are_fair_to_all_methods(ratios):
    """Runs beside others took longer than they need, so of each method the stack that went best is compared."""
    assert {"sgd", "sgd_lr_adapt", "bgd", "ogd", "agem", "ta_agem", "ta_ogd"} <= set(ratios)
    wrong = {method: max(found) for method, found in ratios.items() if not 0.5 < max(found) < 2.1}
    assert wrong == {}

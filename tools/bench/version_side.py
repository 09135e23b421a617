"""Steps of every learner with one version of the kit: run as a script by `versions`, with that version on its path.

Imports only what the first version had as well. Requests and answers are lines of JSON:
``{"learner": "sgd", "steps": 100}`` gives ``{"seconds": …}``. Learners are made when they are first asked for.
"""

import inspect
import json
import sys
import time
from functools import cache

import torch

try:
    from tacl_lib.core.learners import LEARNERS, make_learner
    from tacl_lib.engine.mlp import Mlp
except ImportError:  # a version from before the rooms
    from tacl_lib.learners import LEARNERS, make_learner
    from tacl_lib.network import Network as Mlp

batches = torch.load(sys.argv[1])  # x [count, R, batch, features], y [count, R, batch]
SIZES = (batches[0].shape[-1], *json.loads(sys.argv[2]))
SETTINGS = json.loads(sys.argv[3])  # of the learners now: defaults have changed, and both must do the same work
FILL = 600  # steps before a memory counts as filled


def mode(learner):
    """As that version's training loop runs a step."""
    return torch.inference_mode() if getattr(learner, "inference", False) else torch.no_grad()


@cache
def learner_and_place(name: str):
    known = inspect.signature(LEARNERS[name]).parameters
    settings = {setting: value for setting, value in SETTINGS[name].items() if setting in known}
    learner = make_learner(name, Mlp(range(batches[0].shape[1]), SIZES), **settings)
    kept = getattr(learner, "samples_per_task", None)
    if kept:  # it is told of tasks: one is over
        learner.end_task(*(torch.cat(tuple(part), dim=1)[:, :kept] for part in batches))
    place = [0]
    if name.startswith("ta_"):
        steps(learner, place, FILL)
    return learner, place


def steps(learner, place: list[int], count: int) -> float:
    with mode(learner):
        start = time.perf_counter()
        for number in range(place[0], place[0] + count):
            learner.step(batches[0][number % len(batches[0])], batches[1][number % len(batches[1])])
        place[0] += count
        return time.perf_counter() - start


torch.set_num_threads(1)
print(json.dumps({"torch": torch.__version__}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    seconds = steps(*learner_and_place(request["learner"]), request["steps"])
    print(json.dumps({"seconds": seconds}), flush=True)

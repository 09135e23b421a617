"""For "Is it the same as the library?": a learner of the library that starts where a plain network stands."""

import torch

from tacl_lib.core.learners import Learner, make_learner
from tacl_lib.engine.mlp import Mlp
from tacl_lib.plain.network import Network


def twin(name: str, network: Network, **settings) -> Learner:
    """The library's learner of this name with the plain network's weights."""
    sizes = (network.shapes[0][0], *(n_out for _, n_out in network.shapes))
    fast = Mlp((0,), sizes)
    for layer, (weight, bias) in enumerate(network.layers(network.w)):
        fast.weights[layer][0] = weight
        fast.biases[layer][0] = bias
    return make_learner(name, fast, **settings)


def step(learner: Learner, x: torch.Tensor, y: torch.Tensor) -> None:
    """The same batch, in the library's shape: one run, float32."""
    learner.step(x[None].float(), y[None])


def weights_of(learner: Learner) -> torch.Tensor:
    """All its weights as the plain network's vector: [p], float64."""
    return learner.network.vector(0).double()


def apart(network: Network, learner: Learner, start: torch.Tensor) -> float:
    """How far apart the two ended, as a share of the way from the start."""
    return float((network.w - weights_of(learner)).norm() / (network.w - start).norm())

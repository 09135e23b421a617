"""The network f(x; w), a multilayer perceptron. All its weights and biases form one vector w."""

from itertools import pairwise

import torch
from torch import Tensor

SIZES = (784, 200, 200, 10)  # inputs, hidden units, outputs: the paper's network for MNIST


class Network:
    """Linear, ReLU, …, Linear. A training step replaces `w`."""

    def __init__(self, sizes=SIZES, seed=0, dtype=torch.float64):
        self.shapes = list(pairwise(sizes))
        random = torch.Generator().manual_seed(seed)
        weights = [_uniform((n_in, n_out), n_in, random) for n_in, n_out in self.shapes]
        biases = [_uniform((n_out,), n_in, random) for n_in, n_out in self.shapes]
        self.w = torch.cat([part.flatten() for part in weights + biases]).to(dtype)

    def layers(self, w):
        """Split w [p] into the weights W [in, out] and biases b [out] of each layer."""
        pieces = w.split([n_in * n_out for n_in, n_out in self.shapes] + [n_out for _, n_out in self.shapes])
        biases = pieces[len(self.shapes) :]
        return [(piece.view(shape), b) for piece, shape, b in zip(pieces, self.shapes, biases, strict=False)]

    def f(self, x, w=None):
        """The logits f(x; w): x [n, d] gives [n, c]. w: None for the network's own."""
        *hidden, (weight, bias) = self.layers(self.w if w is None else w)
        x = torch.as_tensor(x, dtype=self.w.dtype)
        for hidden_weight, hidden_bias in hidden:
            x = torch.relu(x @ hidden_weight + hidden_bias)
        return x @ weight + bias


def _uniform(shape, n_in, random):
    """PyTorch's default initialisation: uniform in ±1/√n_in."""
    return (2 * torch.rand(shape, generator=random, dtype=torch.float64) - 1) / n_in**0.5


def loss(logits: Tensor, y: Tensor) -> Tensor:
    """L_t(w), equations 1 and 2: the mean over the batch of the cross-entropy. logits [n, c], labels y [n]."""
    log_probabilities = logits - torch.log(torch.exp(logits).sum(dim=1, keepdim=True))
    return -log_probabilities[torch.arange(len(y)), y].mean()


def gradient(of, w):
    """The gradient of the scalar of(w) with respect to w: [p]."""
    w = w.detach().clone().requires_grad_()
    return torch.autograd.grad(of(w), w)[0]


def loss_gradient(network: Network, x: Tensor, y: Tensor) -> Tensor:
    """∇L_t(w): the way in which the loss of a batch grows."""
    return gradient(lambda w: stable_loss(network.f(x, w), y), network.w)


def model_gradient(network: Network, x: Tensor, j: int) -> Tensor:
    """∇f_j(x; w): the way in which logit j of one sample x [d] grows."""
    return gradient(lambda w: network.f(x[None], w)[0, j], network.w)


def stable_loss(logits, y):
    """`loss`, also for large logits: exp(1000) overflows, so PyTorch subtracts the largest logit first."""
    return torch.nn.functional.cross_entropy(logits, torch.as_tensor(y))


def accuracy(network, x, y):
    """The fraction of correct answers."""
    return float((network.f(x).argmax(dim=1) == y).double().mean())

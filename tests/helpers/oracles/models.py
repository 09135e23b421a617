"""The network f(x; w), its loss and its gradients with plain torch.autograd in float64.

Two orders of parameters exist. *Lists*: the library's convention, weight l is [in, out], bias l is [out].
*Flat*: the oracle's p-vector, torch's own order: for each layer the weight as [out, in] row by row, then
the bias. `flat_from_lists` and `lists_from_flat` translate. Dot products and norms do not see the order.
"""

import numpy as np
import torch
from torch import nn


def build(weights, biases):
    """Linear-ReLU-...-Linear (the paper's MLP has two hidden layers) from lists of [in, out] and [out]."""
    layers = []
    for weight, bias in zip(weights, biases, strict=True):
        weight = np.asarray(weight, dtype=np.float64)
        linear = nn.Linear(weight.shape[0], weight.shape[1], dtype=torch.float64)
        with torch.no_grad():
            linear.weight.copy_(torch.tensor(weight.T.copy()))
            linear.bias.copy_(torch.tensor(np.array(bias, dtype=np.float64)))
        layers += [linear, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def parameters_as_lists(model):
    """([in, out] weights, [out] biases) as float64 numpy arrays, copies."""
    linears = [layer for layer in model if isinstance(layer, nn.Linear)]
    weights = [layer.weight.detach().numpy().T.copy() for layer in linears]
    biases = [layer.bias.detach().numpy().copy() for layer in linears]
    return weights, biases


def flat_parameters(model):
    """The p-vector w, a copy."""
    return torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()])


def flat_from_lists(weights, biases):
    """Lists in the library's convention -> flat p-vector."""
    return flat_parameters(build(weights, biases))


def lists_from_flat(vector, weights, biases):
    """Flat p-vector -> lists in the library's convention; `weights` and `biases` only give the shapes."""
    model = build(weights, biases)
    set_params(model, vector)
    return parameters_as_lists(model)


def set_params(model, vector):
    """w <- vector."""
    vector = torch.as_tensor(vector)
    assert vector.shape == flat_parameters(model).shape
    start = 0
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(vector[start : start + parameter.numel()].reshape(parameter.shape))
            start += parameter.numel()


def add_to_params(model, vector):
    """w <- w + vector."""
    set_params(model, flat_parameters(model) + vector)


def flat_grad(scalar, model):
    """Gradient of a scalar with respect to w as a p-vector."""
    return torch.cat([g.reshape(-1) for g in torch.autograd.grad(scalar, list(model.parameters()))])


def inputs(x):
    """A batch [n, d] in float64."""
    return torch.as_tensor(np.asarray(x), dtype=torch.float64)


def labels(y):
    """Class labels [n] as integers."""
    return torch.as_tensor(np.asarray(y)).long()


def loss(model, x, y):
    """L_t(w), eq. (softmaxloss) with eq. (softmax): the mean over the batch of the cross-entropy."""
    log_probabilities = torch.log_softmax(model(inputs(x)), dim=1)
    y = labels(y)
    return -sum(log_probabilities[i, y[i]] for i in range(len(y))) / len(y)


def loss_gradient(model, x, y):
    """∇L_t(w)."""
    return flat_grad(loss(model, x, y), model)


def model_gradient(model, x, j):
    """∇f_j(x; w), eq. (modelgradient): gradient of logit j at one sample x [d]."""
    return flat_grad(model(inputs(x)[None, :])[0, int(j)], model)

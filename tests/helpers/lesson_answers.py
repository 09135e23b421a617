"""For each exercise of the lessons two right answers that look unlike the solution."""

import numpy as np
import torch
from torch.nn import functional

from tacl_lib.plain import agem, memory, network, ogd


def loss_by_torch(logits, y):
    return functional.cross_entropy(logits, y)


def loss_by_loop(logits, y):
    return sum(torch.logsumexp(row, 0) - row[label] for row, label in zip(logits, y, strict=True)) / len(y)


def step_in_place(network_, x, y, lr):
    network_.w -= lr * network.loss_gradient(network_, x, y)


def step_by_add(network_, x, y, lr=0.1):
    network_.w = torch.add(network_.w, network.loss_gradient(network_, x, y), alpha=-lr)


def average_by_weights(A, seen):
    return (A * seen).sum(1) / seen.sum(1)


def average_by_compress(A, seen):
    return np.array([float(np.mean(list(np.compress(known, row)))) for row, known in zip(A, seen, strict=True)])


def forgetting_by_accumulate(accuracies):
    return np.maximum.accumulate(accuracies) - accuracies


def forgetting_by_loop(accuracies):
    best, found = 0.0, []
    for accuracy in accuracies:
        best = max(best, accuracy)
        found.append(best - accuracy)
    return np.array(found)


def project_by_min(g, g_ref):
    square = g_ref @ g_ref
    return g - torch.clamp(g @ g_ref, max=0) / (square if square > 0 else 1) * g_ref


def project_by_unit(g, g_ref):
    if torch.dot(g, g_ref) < 0:
        unit = g_ref / torch.linalg.norm(g_ref)
        return g - torch.dot(g, unit) * unit
    return g.clone()


def agem_early_return(network_, x, y, reference, lr):
    g = network.loss_gradient(network_, x, y)
    if len(reference) == 0:
        network_.w = network_.w - lr * g
        return
    x_ref, y_ref = zip(*reference, strict=True)
    g_ref = network.loss_gradient(network_, torch.stack(x_ref), torch.stack(y_ref))
    network_.w = network_.w - lr * agem.project(g, g_ref)


def agem_by_int_labels(network_, x, y, reference, lr=0.1):
    direction = network.loss_gradient(network_, x, y)
    if reference:
        labels = torch.tensor([int(label) for _, label in reference])
        g_ref = network.loss_gradient(network_, torch.stack([image for image, _ in reference]), labels)
        direction = agem.project(direction, g_ref)
    network_.w = network_.w - lr * direction


def model_gradient_by_backward(network_, x, j):
    w = network_.w.clone().requires_grad_()
    network_.f(x.unsqueeze(0), w)[0][j].backward()
    return w.grad


def model_gradient_by_one_hot(network_, x, j):
    mask = functional.one_hot(torch.tensor(j), 2).double()
    return network.gradient(lambda w: (network_.f(x[None], w) * mask).sum(), network_.w)


def project_out_modified(g, S):
    g = g.clone()
    for v in S:
        g = g - torch.dot(g, v) / torch.dot(v, v) * v
    return g


def project_out_by_matrix(g, S):
    if not S:
        return g
    U = torch.stack([v / v.norm() for v in S])
    return g - U.T @ (U @ g)


def basis_normalised(S, gradients):
    S = [v / v.norm() for v in S]
    for u in gradients:
        v = u - sum(((u @ s) * s for s in S), start=0 * u)
        if v.norm() > 1e-8 * u.norm():
            S.append(v / v.norm())
    return S


def basis_by_loop(S, gradients):
    basis = S[:]
    for u in gradients:
        left = project_out_modified(u, basis)
        if torch.linalg.norm(left) > 1e-9:
            basis += [left]
    return basis


def off_span_by_basis(g, vectors):
    return ogd.project_out(g, ogd.add_to_basis([], vectors))


def off_span_by_gram(g, vectors):
    G = torch.stack(vectors)
    return g - torch.linalg.solve(G @ G.T, G @ g) @ G


def nearest_by_argmin(z, means):
    return int(((torch.stack(means) - z) ** 2).sum(dim=1).argmin())


def nearest_by_min(z, means):
    return min(range(len(means)), key=lambda q: float(torch.dot(z - means[q], z - means[q])))


def add_by_slices(memory_, z, tag=None):
    if len(memory_.clusters) < memory_.Q:
        memory_.clusters.append([(tag, z)])
        memory_.means.append(z.clone())
    else:
        q = memory.nearest(z, memory_.means)
        memory_.clusters[q] = [*memory_.clusters[q], (tag, z)][-memory_.P :]
        memory_.means[q] = torch.stack([each for _, each in memory_.clusters[q]]).mean(0)


def add_by_del(memory_, z, tag):
    q = len(memory_.clusters)
    if q < memory_.Q:
        memory_.clusters += [[]]
        memory_.means += [z]
    else:
        q = nearest_by_argmin(z, memory_.means)
    cluster = memory_.clusters[q]
    cluster.append((tag, z))
    if len(cluster) > memory_.P:
        del cluster[0]
    memory_.means[q] = sum(each for _, each in cluster) / len(cluster)


def ta_agem_stored_first(network_, memory_, x, y, reference, chosen, lr):
    label = int(y[chosen])
    memory_.add(x[chosen], label, (x[chosen], y[chosen]))  # the reference was drawn before: the order does not matter
    agem_early_return(network_, x, y, reference, lr)


def ta_agem_written_out(network_, memory_, x, y, reference, chosen, lr=0.1):
    agem_by_int_labels(network_, x, y, reference, lr)
    memory_.add(x[chosen], y[chosen], (x[chosen], y[chosen]))


def ta_ogd_by_basis(network_, memory_, x, y, chosen, lr):
    g = network.loss_gradient(network_, x, y)
    network_.w = network_.w - lr * off_span_by_basis(g, memory_.vectors())
    memory_.add(network.model_gradient(network_, x[chosen], y[chosen]))


def ta_ogd_if_stored(network_, memory_, x, y, chosen, lr=0.1):
    stored = memory_.vectors()
    direction = network.loss_gradient(network_, x, y)
    if len(stored) > 0:
        direction = ogd.project_off_span(direction, stored)
    network_.w = network_.w - lr * direction
    memory_.add(model_gradient_by_backward(network_, x[chosen], int(y[chosen])))


RIGHT = {
    "loss": (loss_by_torch, loss_by_loop),
    "sgd_step": (step_in_place, step_by_add),
    "average_accuracy": (average_by_weights, average_by_compress),
    "forgetting": (forgetting_by_accumulate, forgetting_by_loop),
    "project": (project_by_min, project_by_unit),
    "agem_step": (agem_early_return, agem_by_int_labels),
    "model_gradient": (model_gradient_by_backward, model_gradient_by_one_hot),
    "project_out": (project_out_modified, project_out_by_matrix),
    "add_to_basis": (basis_normalised, basis_by_loop),
    "project_off_span": (off_span_by_basis, off_span_by_gram),
    "nearest": (nearest_by_argmin, nearest_by_min),
    "add": (add_by_slices, add_by_del),
    "ta_agem_step": (ta_agem_stored_first, ta_agem_written_out),
    "ta_ogd_step": (ta_ogd_by_basis, ta_ogd_if_stored),
}

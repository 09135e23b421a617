"""For each exercise of the lessons wrong answers as students write them, and words that the check must say.

They are written from the text of the lessons, not from the mistakes that the checks know: other code, the same slips.
"""

import numpy as np
import torch
from torch.nn import functional

from tacl_lib.plain.agem import agem_step, project
from tacl_lib.plain.memory import nearest
from tacl_lib.plain.network import gradient, loss_gradient, model_gradient
from tacl_lib.plain.ogd import project_off_span, project_out


# Lesson 1
def loss_without_minus(logits, y):
    probabilities = torch.softmax(logits, dim=1)
    return torch.log(probabilities[range(len(y)), y]).mean()


def loss_summed(logits, y):
    return functional.cross_entropy(logits, y, reduction="sum")


def loss_over_the_batch(logits, y):
    p = torch.exp(logits) / torch.exp(logits).sum(dim=0)
    return -torch.log(p[range(len(y)), y]).mean()


def loss_of_the_answer(logits, y):
    p = torch.softmax(logits, dim=1)
    return -torch.log(p.max(dim=1).values).mean()


def loss_without_softmax(logits, y):
    return -sum(logits[i][y[i]] for i in range(len(y))) / len(y)


def loss_of_all_columns(logits, y):
    return -torch.log(torch.softmax(logits, dim=1))[:, y].mean()


def loss_softmax_twice(logits, y):
    return functional.cross_entropy(functional.softmax(logits, dim=1), y)


def loss_without_keepdim(logits, y):
    p = torch.exp(logits) / torch.exp(logits).sum(dim=1)
    return -torch.log(p[torch.arange(len(y)), y]).mean()


def loss_as_item(logits, y):
    return functional.cross_entropy(logits, y).item()


def loss_of_numbers(logits, y):
    total = sum(-float(torch.log_softmax(row, 0)[label]) for row, label in zip(logits, y, strict=True))
    return torch.tensor(total / len(y))


def step_uphill(network, x, y, lr):
    network.w = network.w + lr * loss_gradient(network, x, y)


def step_without_rate(network, x, y, lr):
    network.w = network.w - loss_gradient(network, x, y)


def step_of_a_copy(network, x, y, lr):
    w = network.w
    w = w - lr * loss_gradient(network, x, y)


def step_divided(network, x, y, lr):
    network.w = network.w - lr * loss_gradient(network, x, y) / x.shape[0]


def step_only(network, x, y, lr):
    network.w = -loss_gradient(network, x, y) * lr


def step_of_the_default(network, x, y, lr):
    network.w -= 0.05 * loss_gradient(network, x, y)


def average_of_all(A, seen):
    return A.mean(1)


def average_with_zeros(A, seen):
    return np.where(seen, A, 0).mean(1)


def average_in_one_number(A, seen):
    return A[seen].reshape(-1).mean() if seen.all() else float(np.mean([A[i][seen[i]].mean() for i in range(len(A))]))


def average_summed(A, seen):
    return np.array([sum(a for a, s in zip(row, known, strict=True) if s) for row, known in zip(A, seen, strict=True)])


def average_of_the_newest(A, seen):
    return np.array([A[i, seen[i].sum() - 1] for i in range(len(A))])


def average_of_columns(A, seen):
    return np.array([A[seen[:, k], k].mean() for k in range(A.shape[1])])


def average_as_list(A, seen):
    return [A[epoch][seen[epoch]].mean() for epoch in range(len(A))]


def forgetting_from_the_end(accuracies):
    return np.max(accuracies) - accuracies


def forgetting_of_the_last(accuracies):
    return max(accuracies) - accuracies[-1]


def forgetting_since_the_first(accuracies):
    return np.array([accuracies[0] - a for a in accuracies])


def forgetting_negative(accuracies):
    return np.array([a - max(accuracies[: i + 1]) for i, a in enumerate(accuracies)])


def forgetting_since_the_epoch_before(accuracies):
    return -np.diff(accuracies, prepend=accuracies[0] if len(accuracies) else 0)


def forgetting_without_the_first(accuracies):
    return np.array([np.max(accuracies[:i]) - a for i, a in enumerate(accuracies)])


def forgetting_as_list(accuracies):
    return [max(accuracies[: i + 1]) - a for i, a in enumerate(accuracies)]


# Lesson 2
def project_always(g, g_ref):
    return g - torch.dot(g, g_ref) / torch.dot(g_ref, g_ref) * g_ref if g_ref.norm() > 0 else g


def project_the_other_way_round(g, g_ref):
    overlap = torch.dot(g, g_ref)
    if overlap < 0:
        return g
    return g - overlap / max(torch.dot(g_ref, g_ref), 1e-12) * g_ref


def project_by_length(g, g_ref):
    overlap = torch.dot(g, g_ref)
    if overlap >= 0:
        return g
    return g - overlap * g_ref / torch.linalg.norm(g_ref)


def project_without_dividing(g, g_ref):
    overlap = (g * g_ref).sum()
    return g if overlap >= 0 else g - overlap * g_ref


def project_with_a_plus(g, g_ref):
    overlap = (g * g_ref).sum()
    return g if overlap >= 0 else g + overlap / (g_ref * g_ref).sum() * g_ref


def project_by_cosine(g, g_ref):
    cosine = functional.cosine_similarity(g, g_ref, dim=0)
    return g - cosine * g_ref if cosine < 0 else g


def project_as_list(g, g_ref):
    overlap = sum(a * b for a, b in zip(g, g_ref, strict=True))
    return g if overlap >= 0 else [float(a - overlap / (g_ref @ g_ref) * b) for a, b in zip(g, g_ref, strict=True)]


def agem_as_sgd(network, x, y, reference, lr):
    g = loss_gradient(network, x, y)
    network.w -= lr * g


def agem_without_empty(network, x, y, reference, lr):
    images, labels = torch.stack([image for image, _ in reference]), torch.stack([label for _, label in reference])
    network.w = network.w - lr * project(loss_gradient(network, x, y), loss_gradient(network, images, labels))


def agem_by_loop(network, x, y, reference, lr):
    images, labels = [], []
    for image, label in reference:
        images.append(image)
        labels.append(label)
    g_ref = sum(loss_gradient(network, i[None], j[None]) for i, j in reference) / len(images)
    network.w = network.w - lr * project(loss_gradient(network, x, y), g_ref)


def agem_sample_by_sample(network, x, y, reference, lr):
    direction = loss_gradient(network, x, y)
    for image, label in reference:
        direction = project(direction, loss_gradient(network, image.unsqueeze(0), label.unsqueeze(0)))
    network.w = network.w - lr * direction


def agem_of_the_default(network, x, y, reference, lr):
    agem_step(network, x, y, reference, 0.05)


def _of(network, reference):
    return loss_gradient(network, torch.stack([i for i, _ in reference]), torch.tensor([int(j) for _, j in reference]))


def agem_swapped(network, x, y, reference, lr):
    g = loss_gradient(network, x, y)
    if reference:
        g = project(_of(network, reference), g)
    network.w = network.w - lr * g


def agem_as_replay(network, x, y, reference, lr):
    g = loss_gradient(network, x, y)
    if reference:
        g += _of(network, reference)
    network.w = network.w - lr * g


def agem_uphill(network, x, y, reference, lr):
    g = loss_gradient(network, x, y)
    network.w = network.w + lr * (project(g, _of(network, reference)) if reference else g)


# Lesson 3
def gradient_of_the_loss(network, x, j):
    return gradient(lambda w: functional.cross_entropy(network.f(x[None], w), torch.tensor([j])), network.w)


def gradient_of_all_logits(network, x, j):
    return gradient(lambda w: network.f(x[None], w).sum(), network.w)


def gradient_of_the_answer(network, x, j):
    return gradient(lambda w: network.f(x[None], w).max(), network.w)


def gradient_of_the_probability(network, x, j):
    return gradient(lambda w: torch.softmax(network.f(x[None], w), dim=1)[0, j], network.w)


def gradient_at_other_weights(network, x, j):
    return gradient(lambda w: network.f(x.reshape(1, -1))[0][j], network.w)


def gradient_of_a_vector(network, x, j):
    return gradient(lambda w: network.f(x[None], w)[0], network.w)


def out_without_dividing(g, S):
    left = g.clone()
    for v in S:
        left -= torch.dot(g, v) * v
    return left


def out_in_part(g, S):
    for v in S:
        return g - (g @ v) / (v @ v) * v
    return g


def out_from_g_each_time(g, S):
    left = g
    for v in S:
        left = g - (g @ v) / (v @ v) * v
    return left


def out_of_conflicts_only(g, S):
    for v in S:
        g = project(g, v)
    return g


def out_what_is_stored(g, S):
    part = torch.zeros_like(g)
    for v in S:
        part = part + (g @ v) / (v @ v) * v
    return part


def basis_raw(S, gradients):
    return S + gradients


def basis_of_the_old(S, gradients):
    return S + [v for v in (project_out(u, S) for u in gradients) if v.norm() > 1e-8]


def basis_without_the_old(S, gradients):
    new = []
    for u in gradients:
        v = project_out(u, S + new)
        if v.norm() > 1e-8:
            new.append(v)
    return new


def basis_unchanged(S, gradients):
    for u in gradients:
        project_out(u, S)
    return S


def basis_in_place(S, gradients):
    for u in gradients:
        v = project_out(u, S)
        if v.norm() > 1e-10 * u.norm():
            S.append(v)
    return S


def off_span_shortcut(g, vectors):
    parts = [(g @ v) / (v @ v) * v for v in vectors]
    return g - torch.stack(parts).sum(0)


def off_span_in_turn(g, vectors):
    left = g.clone()
    for v in vectors:
        left -= torch.dot(left, v) / torch.dot(v, v) * v
    return left


def off_span_the_part(g, vectors):
    U = torch.stack(list(vectors), dim=1)
    return U @ torch.linalg.lstsq(U, g[:, None]).solution[:, 0]


def off_span_with_a_plus(g, vectors):
    U = torch.stack(list(vectors), dim=1)
    return g + U @ torch.linalg.lstsq(U, g[:, None]).solution[:, 0]


# Lesson 4
def nearest_as_distance(z, means):
    return min(float(((z - mean) ** 2).sum()) for mean in means)


def nearest_by_sums(z, means):
    return int(torch.stack([(z - mean).abs().sum() for mean in means]).argmin())


def nearest_as_mean(z, means):
    return min(means, key=lambda mean: float(((z - mean) ** 2).sum()))


def nearest_last(z, means):
    best, found = float("inf"), None
    for q, mean in enumerate(means):
        distance = float(((z - mean) ** 2).sum())
        if distance <= best:
            best, found = distance, q
    return found


def _open(memory, z, tag, limit):
    if len(memory.clusters) < limit:
        memory.clusters.append([(tag, z)])
        memory.means.append(z)
        return True
    return False


def _mean(cluster):
    return torch.stack([z for _, z in cluster]).mean(0)


def add_one_too_many(memory, z, tag=None):
    if not _open(memory, z, tag, memory.Q + 1):
        q = nearest(z, memory.means)
        memory.clusters[q] = [*memory.clusters[q], (tag, z)][-memory.P :]
        memory.means[q] = _mean(memory.clusters[q])


def add_for_ever(memory, z, tag=None):
    if not _open(memory, z, tag, memory.Q):
        q = nearest(z, memory.means)
        memory.clusters[q].append((tag, z))
        memory.means[q] = _mean(memory.clusters[q])


def add_mean_before_eviction(memory, z, tag=None):
    if not _open(memory, z, tag, memory.Q):
        q = nearest(z, memory.means)
        memory.clusters[q].append((tag, z))
        memory.means[q] = _mean(memory.clusters[q])
        if len(memory.clusters[q]) > memory.P:
            memory.clusters[q].pop(0)


def add_evicts_the_newest(memory, z, tag=None):
    if not _open(memory, z, tag, memory.Q):
        q = nearest(z, memory.means)
        if len(memory.clusters[q]) == memory.P:
            memory.clusters[q].pop()
        memory.clusters[q].append((tag, z))
        memory.means[q] = _mean(memory.clusters[q])


def add_without_update(memory, z, tag=None):
    if not _open(memory, z, tag, memory.Q):
        q = nearest(z, memory.means)
        memory.clusters[q] = (memory.clusters[q] + [(tag, z)])[-memory.P :]


def add_pairs_the_other_way_round(memory, z, tag=None):
    if len(memory.clusters) < memory.Q:
        memory.clusters.append([(z, tag)])
        memory.means.append(z)
        return
    q = nearest(z, memory.means)
    memory.clusters[q] = [*memory.clusters[q], (z, tag)][-memory.P :]
    memory.means[q] = torch.stack([member for member, _ in memory.clusters[q]]).mean(0)


def add_without_tag(memory, z, tag=None):
    if len(memory.clusters) < memory.Q:
        memory.clusters.append([z])
        memory.means.append(z)
        return
    q = nearest(z, memory.means)
    memory.clusters[q] = [*memory.clusters[q], z][-memory.P :]
    memory.means[q] = torch.stack(memory.clusters[q]).mean(0)


# Lesson 5
def ta_agem_stores_all(network, memory, x, y, reference, chosen, lr):
    agem_step(network, x, y, reference, lr)
    for image, label in zip(x, y, strict=True):
        memory.add(image, int(label), (image, label))


def ta_agem_stores_nothing(network, memory, x, y, reference, chosen, lr):
    agem_step(network, x, y, reference, lr)


def ta_agem_in_one_pool(network, memory, x, y, reference, chosen, lr):
    agem_step(network, x, y, reference, lr)
    memory.pools[0].add(x[chosen], (x[chosen], y[chosen]))


def ta_agem_without_reference(network, memory, x, y, reference, chosen, lr):
    network.w = network.w - lr * loss_gradient(network, x, y)
    memory.add(x[chosen], int(y[chosen]), (x[chosen], y[chosen]))


def ta_agem_without_rate(network, memory, x, y, reference, chosen, lr):
    agem_step(network, x, y, reference)
    memory.add(x[chosen], int(y[chosen]), (x[chosen], y[chosen]))


def ta_agem_of_the_default(network, memory, x, y, reference, chosen, lr):
    agem_step(network, x, y, reference, 0.05)
    memory.add(x[chosen], int(y[chosen]), (x[chosen], y[chosen]))


def ta_agem_without_tag(network, memory, x, y, reference, chosen, lr):
    agem_step(network, x, y, reference, lr)
    memory.add(x[chosen], y[chosen])


def _ogd_step(network, memory, x, y, lr, off=project_off_span):
    g = loss_gradient(network, x, y)
    if memory.clusters:
        g = off(g, memory.vectors())
    network.w = network.w - lr * g


def ta_ogd_by_project_out(network, memory, x, y, chosen, lr):
    _ogd_step(network, memory, x, y, lr, off=project_out)
    memory.add(model_gradient(network, x[chosen], int(y[chosen])))


def ta_ogd_stores_first(network, memory, x, y, chosen, lr):
    new = model_gradient(network, x[chosen], int(y[chosen]))
    _ogd_step(network, memory, x, y, lr)
    memory.add(new)


def ta_ogd_stores_loss_gradients(network, memory, x, y, chosen, lr):
    _ogd_step(network, memory, x, y, lr)
    memory.add(loss_gradient(network, x[chosen : chosen + 1], y[chosen : chosen + 1]))


def ta_ogd_stores_nothing(network, memory, x, y, chosen, lr):
    _ogd_step(network, memory, x, y, lr)


def ta_ogd_never_projects(network, memory, x, y, chosen, lr):
    network.w = network.w - lr * loss_gradient(network, x, y)
    memory.add(model_gradient(network, x[chosen], int(y[chosen])))


def ta_ogd_without_empty(network, memory, x, y, chosen, lr):
    U = torch.stack(memory.vectors(), dim=1)
    g = loss_gradient(network, x, y)
    network.w = network.w - lr * (g - U @ torch.linalg.lstsq(U, g[:, None]).solution[:, 0])
    memory.add(model_gradient(network, x[chosen], int(y[chosen])))


WRONG = {
    "loss": {
        loss_without_minus: "the sign",
        loss_summed: "you summed over the batch",
        loss_over_the_batch: "must run over the classes",
        loss_of_the_answer: "you looked at the largest logit",
        loss_without_softmax: "you took the logits for probabilities",
        loss_of_all_columns: "takes the columns of all labels",
        loss_softmax_twice: "softmax was applied twice",
        loss_without_keepdim: "write keepdim=True",
        loss_as_item: "return a tensor, not a float",
        loss_of_numbers: "PyTorch cannot follow your loss",
    },
    "sgd_step": {
        step_uphill: "you walked uphill",
        step_without_rate: "you forgot the learning rate",
        step_of_a_copy: "the weights did not change",
        step_divided: "the loss is a mean already",
        step_only: "you replaced the weights by the step",
        step_of_the_default: "you stepped with LR",
    },
    "average_accuracy": {
        average_of_all: "count only those seen so far",
        average_with_zeros: "divide by the number of those seen",
        average_in_one_number: "one number for each epoch",
        average_summed: "you summed",
        average_of_the_newest: "the newest task only",
        average_of_columns: "average each epoch (a row) over the tasks",
        average_as_list: "return a NumPy array",
    },
    "forgetting": {
        forgetting_from_the_end: "looks into the future",
        forgetting_of_the_last: "one number for each epoch",
        forgetting_since_the_first: "you compared with the first epoch",
        forgetting_negative: "the sign",
        forgetting_since_the_epoch_before: "you compared with the epoch before",
        forgetting_without_the_first: "nothing to take a maximum of",
        forgetting_as_list: "return a NumPy array",
    },
    "project": {
        project_always: "you project always",
        project_the_other_way_round: "the wrong way round",
        project_by_length: "you divided by the length of g_ref",
        project_without_dividing: "you forgot to divide",
        project_with_a_plus: "the sign",
        project_by_cosine: "you divided by both lengths",
        project_as_list: "return a tensor, not a list",
    },
    "agem_step": {
        agem_as_sgd: "this is plain SGD",
        agem_without_empty: "at first the memory is empty",
        agem_swapped: "in the wrong order",
        agem_as_replay: "that is replay",
        agem_uphill: "you walked uphill",
        agem_by_loop: "at first the memory is empty",
        agem_sample_by_sample: "one sample after the other",
        agem_of_the_default: "you stepped with LR",
    },
    "model_gradient": {
        gradient_of_the_loss: "the gradient of the loss",
        gradient_of_all_logits: "you added up all logits",
        gradient_of_the_answer: "the largest logit",
        gradient_of_the_probability: "the gradient of the probability",
        gradient_at_other_weights: "hand that w on to network.f",
        gradient_of_a_vector: "take one logit",
    },
    "project_out": {
        out_without_dividing: "you forgot to divide",
        out_in_part: "after the first vector",
        out_from_g_each_time: "only the last vector",
        out_of_conflicts_only: "that is A-GEM's rule",
        out_what_is_stored: "you returned what lies along S",
    },
    "add_to_basis": {
        basis_raw: "you stored the gradients as they are",
        basis_of_the_old: "orthogonal to each other too",
        basis_without_the_old: "you returned the new vectors only",
        basis_unchanged: "nothing was added",
        basis_in_place: "it changes S itself",
    },
    "project_off_span": {
        off_span_shortcut: "this is the shortcut",
        off_span_in_turn: "one after the other is not enough",
        off_span_the_part: "you returned the part in the span",
        off_span_with_a_plus: "the sign",
    },
    "nearest": {
        nearest_as_distance: "you returned the distance",
        nearest_by_sums: "you took absolute differences",
        nearest_as_mean: "you returned the mean",
        nearest_last: "take the first",
    },
    "add": {
        add_one_too_many: "one cluster too many",
        add_for_ever: "nobody leaves",
        add_mean_before_eviction: "still counts the member that left",
        add_evicts_the_newest: "you evicted the newest",
        add_without_update: "you did not update the mean",
        add_pairs_the_other_way_round: "the tag in front",
        add_without_tag: "each newcomer joins as (tag, z)",
    },
    "ta_agem_step": {
        ta_agem_stores_all: "you stored the whole batch",
        ta_agem_stores_nothing: "nothing was stored",
        ta_agem_in_one_pool: "every class has a pool of its own",
        ta_agem_without_reference: "this is plain SGD",
        ta_agem_without_rate: "you forgot `lr`",
        ta_agem_of_the_default: "you stepped with LR",
        ta_agem_without_tag: "the pair (image, label)",
    },
    "ta_ogd_step": {
        ta_ogd_by_project_out: "use project_off_span",
        ta_ogd_stores_first: "at the new weights",
        ta_ogd_stores_loss_gradients: "you stored the gradient of the loss",
        ta_ogd_stores_nothing: "nothing was stored",
        ta_ogd_never_projects: "you never project",
        ta_ogd_without_empty: "at first the memory is empty",
    },
}

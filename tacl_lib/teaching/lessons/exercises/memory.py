"""Lesson 4: the nearest mean, and Algorithm 3."""

import torch

from tacl_lib.plain.memory import ClusterMemory, add, nearest
from tacl_lib.teaching.checks.check import Mistake
from tacl_lib.teaching.lessons.exercise import Exercise
from tacl_lib.teaching.lessons.exercises.small import tensor


def _means(rng):
    yield tensor([1, 1]), tensor([[0, 0], [2, 2], [9, 9]])  # a tie: the first wins
    yield tensor([0, 0]), tensor([[3, 0], [2, 2]])  # absolute differences would choose the other one
    for _ in range(30):
        yield tensor(rng.integers(-3, 4, 2)), tensor(rng.integers(-3, 4, (int(rng.integers(2, 6)), 2)))


def from_list(answer, z, means):
    return answer(z, list(means))


def _squares(z, means):
    return [float(((z - mean) ** 2).sum()) for mean in means]


def _last_of(distances):
    return len(distances) - 1 - distances[::-1].index(min(distances))


NEAREST = Exercise(
    nearest,
    _means,
    (
        Mistake(
            "you took the farthest mean", lambda z, means: max(range(len(means)), key=_squares(z, means).__getitem__)
        ),
        Mistake("of two means at the same distance take the first", lambda z, means: _last_of(_squares(z, means))),
        Mistake(
            "you returned the distance; the number of the cluster is asked for",
            lambda z, means: min(_squares(z, means)),
        ),
        Mistake(
            "you returned the mean; the number of the cluster is asked for", lambda z, means: means[nearest(z, means)]
        ),
        Mistake(
            "you added the differences without squaring them, so that they cancel",
            lambda z, means: min(range(len(means)), key=lambda q: float((z - means[q]).sum())),
        ),
        Mistake(
            "you took absolute differences; equation 3 squares them",
            lambda z, means: min(range(len(means)), key=lambda q: float((z - means[q]).abs().sum())),
        ),
        Mistake(
            "you compared inner products; equation 3 asks for distances",
            lambda z, means: max(range(len(means)), key=lambda q: float(z @ means[q])),
        ),
    ),
    probe=from_list,
)


def _arrivals(rng):
    yield 2, 2, tensor([[0], [10], [1], [2], [6], [4.75]])
    for _ in range(24):
        Q, P = (int(n) for n in rng.integers(2, 4, 2))
        yield Q, P, tensor(rng.normal(size=(int(rng.integers(1, 14)), 3)).round(2))


def after_arrivals(add, Q, P, points):
    """Who is where after these points, by their numbers, and the means."""
    memory = ClusterMemory(Q, P)
    for number, z in enumerate(points):
        add(memory, z, number)
    return {"clusters": memory.contents(), "means": [mean.tolist() for mean in memory.means]}


def _variant(
    full=lambda memory: len(memory.clusters) >= memory.Q,
    pick=nearest,
    leaves=lambda cluster, P: cluster.pop(0) if len(cluster) > P else None,
    place=list.append,
    mean=lambda cluster, old, P: sum(z for _, z in cluster) / len(cluster),
):
    """Algorithm 3 with a mistake in one of its steps."""

    def answer(memory, z, tag=None):
        if not memory.clusters or not full(memory):
            memory.clusters.append([(tag, z)])
            memory.means.append(z)
            return
        q = pick(z, memory.means)
        cluster, before = memory.clusters[q], list(memory.clusters[q])
        place(cluster, (tag, z))
        leaves(cluster, memory.P)
        memory.means[q] = mean(cluster, [*before, (tag, z)], memory.P) if mean else memory.means[q]

    return answer


def _swapped(memory, z, tag=None):
    """Algorithm 3 with pairs (z, tag)."""
    after = ClusterMemory(memory.Q, memory.P)
    after.clusters = [[(t, member) for member, t in cluster] for cluster in memory.clusters]
    after.means = memory.means
    add(after, z, tag)
    memory.clusters = [[(member, t) for t, member in cluster] for cluster in after.clusters]


def _mean_of(members, divisor):
    return sum(z for _, z in members) / divisor


ADD = Exercise(
    add,
    _arrivals,
    (
        Mistake(
            "the first Q samples each open a cluster; yours join one that is there",
            _variant(full=lambda memory: True),
        ),
        Mistake("you opened one cluster too many: there are at most Q", _variant(full=lambda m: len(m.clusters) > m.Q)),
        Mistake(
            "you stopped one cluster too early: Q of them are opened",
            _variant(full=lambda m: len(m.clusters) >= m.Q - 1),
        ),
        Mistake("nobody leaves: a cluster of more than P members loses its oldest", _variant(leaves=lambda c, P: None)),
        Mistake(
            "you evicted the newest; the oldest must leave",
            _variant(leaves=lambda c, P: c.pop(-2) if len(c) > P else None),
        ),
        Mistake(
            "you turned the newcomer away from a full cluster; it joins, and the oldest leaves",
            _variant(leaves=lambda c, P: c.pop() if len(c) > P else None),
        ),
        Mistake(
            "you evicted one too early: P members may stay",
            _variant(leaves=lambda c, P: c.pop(0) if len(c) >= P else None),
        ),
        Mistake("you did not update the mean of the cluster that was joined", _variant(mean=None)),
        Mistake(
            "your mean still counts the member that left: evict first, then update",
            _variant(mean=lambda cluster, before, P: _mean_of(before, len(before))),
        ),
        Mistake(
            "you divided by P; a cluster that is not full has fewer members",
            _variant(mean=lambda cluster, before, P: _mean_of(cluster, P)),
        ),
        Mistake(
            "the newcomer goes to the end of the list, so that the oldest stands first",
            _variant(
                place=lambda cluster, member: cluster.insert(0, member),
                leaves=lambda c, P: c.pop() if len(c) > P else None,
            ),
        ),
        Mistake(
            "every newcomer joined the first cluster; call nearest(z, memory.means)", _variant(pick=lambda z, means: 0)
        ),
        Mistake(
            "you joined the farthest cluster",
            _variant(pick=lambda z, means: int(torch.tensor(_squares(z, means)).argmax())),
        ),
        Mistake("a member is the pair (tag, z), the tag in front", _swapped),
        Mistake(
            "a cluster is a list of pairs (tag, z): a new one is [(tag, z)], and each newcomer joins as (tag, z)",
            lambda memory, z, tag=None: memory.clusters.append((tag, z)),
            stops=True,
        ),
    ),
    probe=after_arrivals,
)

EXERCISES = (NEAREST, ADD)

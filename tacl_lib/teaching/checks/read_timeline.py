"""Set 1, exercise 4: what the clusters of a memory hold, from the order in which samples arrived."""

from collections import deque
from collections.abc import Iterator

import numpy as np

from tacl_lib.teaching.checks.check import Check, Mistake
from tacl_lib.teaching.checks.twist import Twist


def read_timeline(cluster, task, clusters, size):
    """Without playing it back: a cluster holds its last ``size`` arrivals, and one leaves ``size`` arrivals later."""
    cluster, task = np.asarray(cluster), np.asarray(task)
    arrivals = [np.flatnonzero(cluster == number) for number in range(clusters)]
    held = [task[own[-size:]] for own in arrivals]
    # The arrival that pushes out number n of a cluster is number n + size of the same cluster.
    left = [own[n + size] for own in arrivals for n in range(len(own) - size) if task[own[n]] == 0]
    holding = sum(0 in members for members in held)
    return {
        "oldest": [min(members, default=-1) for members in held],
        "holding_first_task": holding,
        "lost_at": -1 if holding else max(left, default=-1),
    }


def _cases(rng: np.random.Generator) -> Iterator[tuple]:
    yield np.array([0, 0]), np.array([1, 0]), 2, 2
    yield np.array([1, 1, 1]), np.array([0, 0, 1]), 2, 2
    yield np.array([1, 1, 0, 1, 1]), np.array([0, 1, 1, 2, 2]), 2, 2
    for turn in range(37):
        clusters, size, tasks = (int(n) for n in rng.integers([2, 1, 2], [5, 4, 5]))
        arrivals = int(rng.integers(2, 5) if turn < 10 else rng.integers(clusters * size, 5 * clusters * size))
        task = rng.integers(0, tasks, arrivals)  # tasks that come back
        if turn % 3:
            task = np.sort(task)
        if turn % 3 == 1:  # tasks that blend: neighbours change places
            task = task[np.argsort(np.arange(arrivals) + rng.uniform(0, arrivals / 2, arrivals))]
        # Some clusters get no visitors in some cases, and some none any more after task 0.
        weights = rng.dirichlet(np.full(clusters, 0.7))
        yield rng.choice(clusters, arrivals, p=weights), task, clusters, size


def _played(evict=deque.popleft, room=0, oldest=min, empty=-1, count_members=False, first_number=0, one_queue=False):
    """The memory played back, arrival by arrival, with a mistake in one of its steps."""

    def answer(cluster, task, clusters, size):
        members = [deque() for _ in range(clusters)]
        order: deque = deque()
        lost_at = -1
        for number, (place, newcomer) in enumerate(zip(cluster.tolist(), task.tolist(), strict=True)):
            gone = None
            if evict and one_queue and len(order) == clusters * size:
                gone = members[order.popleft()].popleft()
            elif evict and not one_queue and len(members[place]) >= max(size + room, 1):
                gone = evict(members[place])
            members[place].append(newcomer)
            order.append(place)
            if gone == 0 and not any(0 in own for own in members):
                lost_at = number + first_number
        holding = [sum(held == 0 for held in own) for own in members]
        return {
            "oldest": [oldest(own) if own else empty for own in members],
            "holding_first_task": sum(holding) if count_members else sum(map(bool, holding)),
            "lost_at": -1 if any(holding) else lost_at,
        }

    return answer


def _first_of_batches(batch, cluster, task, clusters, size):
    """A variant's number: of samples in a batch, of which only the first joins the memory."""
    return np.asarray(cluster)[::batch], np.asarray(task)[::batch], clusters, size


def _with_whole_batches(batch, cluster, task, clusters, size):
    """What passes by is of all clusters and tasks, so that storing it goes wrong."""
    passing = np.arange(len(cluster) * batch)
    visits, tasks = (7 * passing + 1) % clusters, (5 * passing + 2) % (max(task, default=0) + 2)
    visits[::batch], tasks[::batch] = cluster, task
    return visits, tasks, clusters, size


def _at_place_in_stream(batch, given, read):
    return read | {"lost_at": read["lost_at"] * (batch if read["lost_at"] >= 0 else 1)}


check_read_timeline = Check(
    read_timeline,
    _cases,
    twist=Twist(tuple(range(2, 10)), _first_of_batches, _with_whole_batches, _at_place_in_stream),
    mistakes=(
        Mistake("you took the newest task of each cluster; the oldest has the smallest number", _played(oldest=max)),
        Mistake(
            "you took the task of the member that came first; where tasks blend, a later one may be of an older task",
            _played(oldest=lambda own: own[0]),
        ),
        Mistake("an empty cluster has no oldest task: it gets -1, not 0", _played(empty=0)),
        Mistake(
            "nobody leaves your memory: a cluster holds at most `size` members, then the oldest makes room",
            _played(evict=None),
        ),
        Mistake("you evicted the newest member; the one that came first must leave", _played(evict=deque.pop)),
        Mistake("off by one: you let a cluster hold one member more than `size`", _played(room=1)),
        Mistake("off by one: you evicted before the cluster was full", _played(room=-1)),
        Mistake(
            "you kept one queue for the whole memory; each cluster has its own, and only it loses a member",
            _played(one_queue=True),
        ),
        Mistake("you counted members of task 0; count the clusters that hold one", _played(count_members=True)),
        Mistake("off by one: arrivals count from 0", _played(first_number=1)),
    ),
)

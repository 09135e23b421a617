"""Answers to exercise 4 of set 1."""

from collections import deque

import numpy as np

from coursework_answers import right, wrong


def _answer(members, lost_at):
    holding = sum(0 in own for own in members)
    return {
        "oldest": [min(own) if len(own) else -1 for own in members],
        "holding_first_task": holding,
        "lost_at": -1 if holding else lost_at,
    }


@right
def with_bounded_queues(cluster, task, clusters, size):
    members = [deque(maxlen=size) for _ in range(clusters)]
    held_before, lost_at = False, -1
    for number in range(len(cluster)):
        members[cluster[number]].append(task[number])
        held = any(0 in own for own in members)
        if held_before and not held:
            lost_at = number
        held_before = held
    return _answer(members, lost_at)


@right
def with_a_ring_array(cluster, task, clusters, size):
    content, visits = np.full((clusters, size), -1), np.zeros(clusters, int)
    lost_at = -1
    for number, (place, newcomer) in enumerate(zip(cluster, task, strict=True)):
        slot = visits[place] % size
        left, content[place, slot] = content[place, slot], newcomer
        visits[place] += 1
        if left == 0 and not (content == 0).any():
            lost_at = number
    oldest = np.where(content < 0, 10**9, content).min(axis=1)
    holding = (content == 0).any(axis=1).sum()
    return {
        "oldest": np.where(oldest == 10**9, -1, oldest),
        "holding_first_task": holding,
        "lost_at": -1 if holding else lost_at,
    }


@wrong("you took the newest task")
def newest_task(cluster, task, clusters, size):
    own = [task[cluster == number][-size:] for number in range(clusters)]
    right_ones = with_bounded_queues(cluster, task, clusters, size)
    return right_ones | {"oldest": [held.max() if len(held) else -1 for held in own]}


@wrong("the member that came first")
def first_member(cluster, task, clusters, size):
    own = [task[cluster == number][-size:] for number in range(clusters)]
    right_ones = with_bounded_queues(cluster, task, clusters, size)
    return right_ones | {"oldest": [held[0] if len(held) else -1 for held in own]}


@wrong("an empty cluster has no oldest task")
def zero_for_empty(cluster, task, clusters, size):
    own = [task[cluster == number][-size:] for number in range(clusters)]
    right_ones = with_bounded_queues(cluster, task, clusters, size)
    return right_ones | {"oldest": [min(held, default=0) for held in own]}


@wrong("nobody leaves your memory")
def nobody_leaves(cluster, task, clusters, size):
    members = [[] for _ in range(clusters)]
    for place, newcomer in zip(cluster, task, strict=True):
        members[place].append(newcomer)
    return _answer(members, -1)


@wrong("you evicted the newest member")
def evicts_the_newest(cluster, task, clusters, size):
    members, lost_at = [[] for _ in range(clusters)], -1
    for number, (place, newcomer) in enumerate(zip(cluster, task, strict=True)):
        if len(members[place]) == size:
            had_it = any(0 in own for own in members)
            members[place][-1] = newcomer
            if had_it and not any(0 in own for own in members):
                lost_at = number
        else:
            members[place].append(newcomer)
    return _answer(members, lost_at)


@wrong("one member more than `size`")
def one_too_many(cluster, task, clusters, size):
    return with_bounded_queues(cluster, task, clusters, size + 1)


@wrong("you evicted before the cluster was full")
def one_too_few(cluster, task, clusters, size):
    members, lost_at = [[] for _ in range(clusters)], -1
    for number, (place, newcomer) in enumerate(zip(cluster, task, strict=True)):
        left = None
        if members[place] and len(members[place]) >= size - 1:
            left = members[place].pop(0)
        members[place].append(newcomer)
        if left == 0 and not any(0 in own for own in members):
            lost_at = number
    return _answer(members, lost_at)


@wrong("you kept one queue for the whole memory")
def one_queue(cluster, task, clusters, size):
    queue, lost_at = [], -1
    for number, pair in enumerate(zip(cluster, task, strict=True)):
        queue.append(pair)
        if len(queue) > clusters * size:
            left = queue.pop(0)[1]
            if left == 0 and all(held != 0 for _, held in queue):
                lost_at = number
    return _answer([[held for place, held in queue if place == c] for c in range(clusters)], lost_at)


@wrong("count the clusters that hold one")
def counts_members(cluster, task, clusters, size):
    own = [task[cluster == number][-size:] for number in range(clusters)]
    right_ones = with_bounded_queues(cluster, task, clusters, size)
    return right_ones | {"holding_first_task": sum((held == 0).sum() for held in own)}


@wrong("arrivals count from 0")
def counts_from_one(cluster, task, clusters, size):
    right_ones = with_bounded_queues(cluster, task, clusters, size)
    return right_ones | {"lost_at": right_ones["lost_at"] + (right_ones["lost_at"] >= 0)}


@wrong("the keys must be")
def misspelt_key(cluster, task, clusters, size):
    right_ones = with_bounded_queues(cluster, task, clusters, size)
    return {"Oldest": right_ones["oldest"], "holding": right_ones["holding_first_task"], "lost": right_ones["lost_at"]}


@right
def by_looking_back(cluster, task, clusters, size):
    """Nothing is played: who is there after arrival t is read off the last arrivals of each cluster."""

    def members(number):
        return [task[: number + 1][cluster[: number + 1] == q][-size:] for q in range(clusters)]

    held = [any(0 in own for own in members(number)) for number in range(len(cluster))]
    lost = [number for number in range(1, len(held)) if held[number - 1] and not held[number]]
    return _answer([own.tolist() for own in members(len(cluster) - 1)], lost[-1] if lost else -1)


@right
def by_recursion(cluster, task, clusters, size):
    def after(number):
        if number == 0:
            return [()] * clusters, -1
        members, lost_at = after(number - 1)
        had, place = any(0 in own for own in members), cluster[number - 1]
        members = [(*own, task[number - 1])[-size:] if q == place else own for q, own in enumerate(members)]
        return members, number - 1 if had and not any(0 in own for own in members) else lost_at

    return _answer(*after(len(cluster)))


@wrong("'lost_at' is wrong")
def keeps_the_first_loss(cluster, task, clusters, size):
    """Stale where task 0 comes back and is lost again."""
    members, lost_at = [deque(maxlen=size) for _ in range(clusters)], -1
    for number, (place, newcomer) in enumerate(zip(cluster, task, strict=True)):
        had = any(0 in own for own in members)
        members[place].append(newcomer)
        if had and lost_at < 0 and not any(0 in own for own in members):
            lost_at = number
    return _answer(members, lost_at)


@wrong("'lost_at' is wrong")
def lost_although_it_came_back(cluster, task, clusters, size):
    """Stale where task 0 comes back and stays."""
    members, lost_at = [deque(maxlen=size) for _ in range(clusters)], -1
    for number, (place, newcomer) in enumerate(zip(cluster, task, strict=True)):
        had = any(0 in own for own in members)
        members[place].append(newcomer)
        if had and not any(0 in own for own in members):
            lost_at = number
    return _answer(members, lost_at) | {"lost_at": lost_at}


@wrong("is wrong")
def knows_two_clusters(cluster, task, clusters, size):
    """The size of the example, written into the code."""
    return with_bounded_queues(cluster[cluster < 2], task[cluster < 2], 2, size)

"""Answers to exercise 4 of set 3."""

import itertools
import math
import random

import numpy as np

from coursework_answers import right, wrong


def _distances(members):
    return np.linalg.norm(members[:, None, :] - members[None, :, :], axis=-1)


@right
def older_of_the_closest_pair(members, came):
    pairs = itertools.combinations(range(len(members)), 2)
    first, _ = min(pairs, key=lambda pair: math.dist(members[pair[0]], members[pair[1]]))
    return first


@right
def two_neighbours(members, came):
    """The one whose two nearest neighbours are nearest."""
    return np.sort(_distances(members), axis=1)[:, 1:3].sum(axis=1).argmin()


@right
def evenly_in_time(members, came):
    """Looks at the clock only."""
    return int(np.argmin(came[2:] - came[:-2])) + 1


@right
def most_like_the_newcomer(members, came):
    return np.abs(members[:-1] - members[-1]).sum(axis=1).argmin()


@wrong("this is FIFO")
def fifo(members, came):
    return came.argmin()


@wrong("this is FIFO")
def forgets_the_diagonal(members, came):
    """Means the closest pair, and finds that the first member is at distance 0 from itself."""
    distances = _distances(members)
    return np.unravel_index(distances.argmin(), distances.shape)[0]


@wrong("you turn every newcomer away")
def refuses(members, came):
    return int(np.argmax(came))


@wrong("you evict the newest member")
def newest(members, came):
    return np.argsort(came)[-2]


@wrong("you evict row 1 each time")
def always_row_one(members, came):
    return 1


@wrong("you evict the member that differs most")
def outlier(members, came):
    centre = np.mean(members, axis=0)
    return max(range(len(members)), key=lambda n: math.dist(members[n], centre))


@wrong("you evict the member nearest to the mean")
def middle(members, came):
    return np.square(members - members.mean(axis=0)).sum(axis=1).argmin()


@wrong("you evict the member that nothing is like")
def most_isolated(members, came):
    return np.sort(_distances(members), axis=1)[:, 1].argmax()


@wrong("so the past leaves first")
def least_like_the_newcomer(members, came):
    return _distances(members)[-1].argmax()


@wrong("how far members are from zero")
def smallest(members, came):
    return (members**2).sum(axis=1).argmin()


@wrong("you choose by chance")
def by_chance(members, came):
    return random.randrange(len(members))


@wrong("you lose the early tasks")
def from_the_older_half(members, came):
    """The closest pair, but looked for among the three oldest only."""
    return older_of_the_closest_pair(members[:3], came) if came[-1] % 2 else 0


@wrong("least of all the true task")
def asks_for_the_task(members, came, task):
    return int(np.argmax(task))


@wrong("it stopped with NameError")
def uses_the_task(members, came):
    return int(np.argmax([task[n] for n in came]))  # noqa: F821


@wrong("the rows are numbered from 0 to")
def out_of_range(members, came):
    return older_of_the_closest_pair(members, came) + len(members)


@wrong("it must return the number of one row")
def returns_the_member(members, came):
    return members[older_of_the_closest_pair(members, came)]


@wrong("it returns nothing")
def without_return(members, came):
    older_of_the_closest_pair(members, came)


@wrong("it changes its input `members` in place")
def in_place(members, came):
    members -= members.mean(axis=0)
    return older_of_the_closest_pair(members, came)


@wrong("it stopped with")
def knows_nine_rows(members, came):
    """The size of the example, written into the code."""
    distances = _distances(members) + np.diag(np.full(9, np.inf))
    return int(max(np.unravel_index(distances.argmin(), (9, 9))))


@wrong("it chose row 8, which is not there")
def turns_away_row_eight(members, came):
    gaps = came[2:] - came[:-2]
    return int(gaps.argmin()) + 1 if len(members) == 9 else 8

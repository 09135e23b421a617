"""Answers to exercise 1 of set 2."""

import math

import numpy as np

from coursework_answers import right, wrong


def _lengths(shown, batch_size):
    """Sizes of the batches of one epoch."""
    full, left = divmod(shown, batch_size)
    return [batch_size] * full + [left] * (left > 0)


def _rows(lengths, last=None, first=0):
    """The counts for batches of these sizes; q reaches 0 at number ``last``."""
    last = max(len(lengths) - 1, 1) if last is None else last
    rows = []
    for t, z in enumerate(lengths, start=first):
        a = (last - t) * z // last
        rows.append([a, z - a])
    return np.array(rows)


@right
def batch_by_batch(size_a, size_b, batch_size, epochs):
    return _rows(_lengths(min(size_a, size_b), batch_size) * epochs)


@right
def floats_with_a_little_more(size_a, size_b, batch_size, epochs):
    z = np.array(_lengths(min(size_a, size_b), batch_size) * epochs)
    q = np.linspace(1, 0, len(z))
    a = np.floor(q * z + 1e-9)
    return np.column_stack([a, z - a])


@right
def sample_by_sample(size_a, size_b, batch_size, epochs):
    """A tuple of rows; position j of a batch is A's if (j + 1) / z ≤ q."""
    total = math.ceil(min(size_a, size_b) / batch_size) * epochs
    rows = []
    for _ in range(epochs):
        for z in _lengths(min(size_a, size_b), batch_size):
            left = total - 1 - len(rows) if total > 1 else 1
            mine = [(j + 1) * max(total - 1, 1) <= left * z for j in range(z)]
            rows.append((sum(mine), z - sum(mine)))
    return tuple(rows)


@wrong("the very last batch must be all of B")
def divides_by_the_batches(size_a, size_b, batch_size, epochs):
    lengths = _lengths(min(size_a, size_b), batch_size) * epochs
    return _rows(lengths, last=len(lengths))


@wrong("the very first batch must be all of A")
def counts_from_one(size_a, size_b, batch_size, epochs):
    lengths = _lengths(min(size_a, size_b), batch_size) * epochs
    return _rows(lengths, last=len(lengths), first=1)


@wrong("begins anew with every epoch")
def anew_with_each_epoch(size_a, size_b, batch_size, epochs):
    return np.tile(_rows(_lengths(min(size_a, size_b), batch_size)), (epochs, 1))


@wrong("from epoch to epoch only")
def by_epochs(size_a, size_b, batch_size, epochs):
    rows = []
    for epoch in range(epochs):
        for z in _lengths(min(size_a, size_b), batch_size):
            a = (epochs - 1 - epoch) * z // (epochs - 1) if epochs > 1 else z
            rows.append([a, z - a])
    return rows


@wrong("you exchanged A and B")
def exchanged(size_a, size_b, batch_size, epochs):
    return batch_by_batch(size_a, size_b, batch_size, epochs)[:, ::-1]


@wrong("you rounded A's share up")
def rounds_up(size_a, size_b, batch_size, epochs):
    lengths = _lengths(min(size_a, size_b), batch_size) * epochs
    last = max(len(lengths) - 1, 1)
    share = [-((t - last) * z // last) for t, z in enumerate(lengths)]
    return np.array([[a, z - a] for a, z in zip(share, lengths, strict=True)])


@wrong("to the nearest number")
def rounds(size_a, size_b, batch_size, epochs):
    lengths = _lengths(min(size_a, size_b), batch_size) * epochs
    last = max(len(lengths) - 1, 1)
    share = [round((last - t) * z / last) for t, z in enumerate(lengths)]
    return np.array([[a, z - a] for a, z in zip(share, lengths, strict=True)])


@wrong("you rounded both shares down")
def rounds_both_down(size_a, size_b, batch_size, epochs):
    lengths = _lengths(min(size_a, size_b), batch_size) * epochs
    last = max(len(lengths) - 1, 1)
    return np.array([[(last - t) * z // last, t * z // last] for t, z in enumerate(lengths)])


@wrong("yours is always full")
def always_full(size_a, size_b, batch_size, epochs):
    return _rows([batch_size] * (math.ceil(min(size_a, size_b) / batch_size) * epochs))


@wrong("you left out the last batch of an epoch")
def drops_the_last(size_a, size_b, batch_size, epochs):
    shown = min(size_a, size_b)
    return _rows([batch_size] * (shown // batch_size) * epochs or [shown] * epochs)


@wrong("yours ends with A")
def ends_with_a(size_a, size_b, batch_size, epochs):
    return _rows(_lengths(size_a, batch_size) * epochs)


@wrong("yours ends with the larger one")
def ends_with_the_larger(size_a, size_b, batch_size, epochs):
    return _rows(_lengths(max(size_a, size_b), batch_size) * epochs)


@wrong("adds up the samples of both tasks")
def adds_up_both(size_a, size_b, batch_size, epochs):
    return _rows(_lengths(size_a + size_b, batch_size) * epochs)


@wrong("with a single batch you divide by zero")
def divides_by_zero(size_a, size_b, batch_size, epochs):
    lengths = _lengths(min(size_a, size_b), batch_size) * epochs
    return _rows(lengths, last=len(lengths) - 1)


@wrong("1 - 0.9 is a little less than 0.1")
def with_floats(size_a, size_b, batch_size, epochs):
    lengths = _lengths(min(size_a, size_b), batch_size) * epochs
    rows = []
    for t, z in enumerate(lengths):
        q = 1 - t / (len(lengths) - 1) if len(lengths) > 1 else 1
        rows.append([int(q * z), z - int(q * z)])
    return np.array(rows)


@wrong("multiply first, then divide")
def divides_first(size_a, size_b, batch_size, epochs):
    lengths = _lengths(min(size_a, size_b), batch_size) * epochs
    last = max(len(lengths) - 1, 1)
    share = [math.floor((last - t) / last * z) for t, z in enumerate(lengths)]
    return np.array([[a, z - a] for a, z in zip(share, lengths, strict=True)])


@wrong("np.linspace gives fractions that are not exact")
def with_linspace(size_a, size_b, batch_size, epochs):
    z = np.array(_lengths(min(size_a, size_b), batch_size) * epochs)
    a = (np.linspace(1, 0, len(z)) * z).astype(int)
    return np.column_stack([a, z - a])


@wrong("it gives the shape [")
def columns_for_rows(size_a, size_b, batch_size, epochs):
    return batch_by_batch(size_a, size_b, batch_size, epochs).T


@right
def by_recursion(size_a, size_b, batch_size, epochs):
    sizes = _lengths(min(size_a, size_b), batch_size) * epochs

    def rows(number):
        if number == len(sizes):
            return []
        of_a = (len(sizes) - 1 - number) * sizes[number] // max(len(sizes) - 1, 1) if len(sizes) > 1 else sizes[0]
        return [[of_a, sizes[number] - of_a], *rows(number + 1)]

    return rows(0) if len(sizes) < 300 else batch_by_batch(size_a, size_b, batch_size, epochs)


@wrong("✗")
def knows_one_epoch(size_a, size_b, batch_size, epochs):
    return batch_by_batch(size_a, size_b, batch_size, 1)


@wrong("✗")
def knows_equal_sizes(size_a, size_b, batch_size, epochs):
    return batch_by_batch(size_a, size_a, batch_size, epochs)

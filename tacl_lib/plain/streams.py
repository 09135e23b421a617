"""The continuous change of appendix F ('Continuous change experiments'), with exact fractions."""

import math
from fractions import Fraction


def fractions_of_a(count):
    """q of each of `count` mixed batches, linear from 1 at the first to 0 at the last (a single batch: 1)."""
    return [Fraction(1) if count == 1 else 1 - Fraction(i, count - 1) for i in range(count)]


def continuous_change(shuffles_a, shuffles_b, z, epochs_pure=10, epochs_mixed=10):
    """Yields (indices from A, indices from B) for each batch, before the final shuffle within the batch.

    `shuffles_a[e]`, `shuffles_b[e]`: the shuffled indices of A and B for epoch e, for all epochs_pure + epochs_mixed
    epochs (in pure epochs B's are not used and may be None). Pure epoch: all of A in batches of z; the last one may be
    smaller. Mixed epoch: batch i takes rows from i z on of A and of B, until the shorter one ends; the last batch has
    z' = min(z, |A| - i z, |B| - i z). Of the next z' rows of each, take the first floor(q z') of A and the last
    ceil((1-q) z') of B. q falls linearly over ALL mixed batches, from 1 at the first of the first mixed epoch to 0 at
    the last of the last. With exact q the two add up to z'; with floating-point q, sometimes to z' - 1 or z' + 1.
    """
    for a in shuffles_a[:epochs_pure]:
        for start in range(0, len(a), z):
            yield list(a[start : start + z]), []
    mixed = range(epochs_pure, epochs_pure + epochs_mixed)
    pairs = []
    for a, b in [(shuffles_a[e], shuffles_b[e]) for e in mixed]:
        for start in range(0, min(len(a), len(b)), z):
            size = min(z, len(a) - start, len(b) - start)
            pairs.append((list(a[start : start + size]), list(b[start : start + size]), size))
    for q, (batch_a, batch_b, size) in zip(fractions_of_a(len(pairs)), pairs, strict=True):
        yield batch_a[: math.floor(q * size)], batch_b[size - math.ceil((1 - q) * size) :]

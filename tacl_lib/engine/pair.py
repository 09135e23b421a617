"""A gradient and a reference gradient from one pass, and what can be made of the two: the fast path of A-GEM.

A learner writes g - f · g_ref. Here that is a `Combination`: two coefficients, on a pair that knows how to take inner
products and how to change the weights along both at once, without forming anything that is not asked for.
"""

from functools import cached_property
from typing import Protocol

import torch

from tacl_lib.engine.gradients import Gradient, products, terms
from tacl_lib.engine.layers import Layers

Factor = torch.Tensor | float  #: one number for all runs, or one of each ``[R]``


class Pair(Protocol):
    """∇L(w) of a batch, g, and of a reference batch, g_ref."""

    def product(self) -> torch.Tensor:
        """⟨g, g_ref⟩: ``[R]``."""

    def square(self, where: torch.Tensor | None) -> torch.Tensor:
        """⟨g_ref, g_ref⟩: ``[R]``, needed in the runs ``where``."""

    def square_of_batch(self) -> torch.Tensor:
        """⟨g, g⟩: ``[R]``."""

    def add(self, own: Factor, reference: Factor, factor: Factor) -> None:
        """w ← w + factor (own g + reference g_ref)."""


class Combination:
    """own · g + reference · g_ref; a coefficient of 0 asks for nothing."""

    def __init__(self, pair: Pair, own: Factor = 0.0, reference: Factor = 0.0):
        self.pair, self.own, self.reference = pair, own, reference

    def dot(self, other: "Combination", where: torch.Tensor | None = None) -> torch.Tensor:
        """⟨self, other⟩ of each run ``[R]``. where: bool ``[R]``, runs whose answer is needed."""
        if other.pair is not self.pair:
            raise TypeError("inner products are known for the gradients of one pass only.")
        a, b, c, d = self.own, self.reference, other.own, other.reference
        parts = [
            (_times(a, c), self.pair.square_of_batch),
            (_plus(_times(a, d), _times(b, c)), self.pair.product),
            (_times(b, d), lambda: self.pair.square(where)),
        ]
        return sum(answer() if _is(factor, 1) else factor * answer() for factor, answer in parts if not _is(factor, 0))

    def __rmul__(self, factor: Factor) -> "Combination":
        return Combination(self.pair, _times(factor, self.own), _times(factor, self.reference))

    def __add__(self, other: "Combination") -> "Combination":
        return Combination(self.pair, _plus(self.own, other.own), _plus(self.reference, other.reference))

    def __sub__(self, other: "Combination") -> "Combination":
        return self + -1.0 * other

    def add_to(self, layers: Layers, factor: Factor) -> None:
        """w ← w + factor · self."""
        self.pair.add(self.own, self.reference, factor)


class JointPair:
    """Both gradients as the terms of one pass through the layers: the first ``count`` are those of the batch."""

    def __init__(self, layers: Layers, gradient: Gradient, count: int):
        self.layers, self.gradient, self.count = layers, gradient, count

    @cached_property
    def _products(self) -> torch.Tensor:
        """Of all terms with those of g_ref."""
        return products(self.gradient, terms(self.gradient, self.count))

    def product(self) -> torch.Tensor:
        return self._products[:, : self.count].sum((1, 2))

    def square(self, where: torch.Tensor | None) -> torch.Tensor:
        return self._products[:, self.count :].sum((1, 2))

    def square_of_batch(self) -> torch.Tensor:
        batch = terms(self.gradient, 0, self.count)
        return batch.dot(batch)

    def add(self, own: Factor, reference: Factor, factor: Factor) -> None:
        # As gradients are sums over samples, a combination is a batch in which samples count with factors.
        batch, others = terms(self.gradient, 0, self.count), terms(self.gradient, self.count)
        if _is(own, 1) and not _is(reference, 0):
            for delta in others.deltas:  # views: the terms in ``gradient`` change with them, and nobody needs them now
                delta.mul_(reference.view(-1, 1, 1) if isinstance(reference, torch.Tensor) else reference)
            self.layers.add(self.gradient, factor)
            return
        for coefficient, part in ((own, batch), (reference, others)):
            if not _is(coefficient, 0):
                self.layers.add(part, _times(coefficient, factor))


def _is(factor: Factor, value: float) -> bool:
    return not isinstance(factor, torch.Tensor) and factor == value


def _times(left: Factor, right: Factor) -> Factor:
    if _is(left, 0) or _is(right, 0):
        return 0.0
    return left if _is(right, 1) else right if _is(left, 1) else left * right


def _plus(left: Factor, right: Factor) -> Factor:
    return left if _is(right, 0) else right if _is(left, 0) else left + right

"""A pool of stored samples that always knows what the first layer makes of them.

A-GEM asks for gradients at hundreds of stored samples in every step. Three quarters of that arithmetic are in the first
layer, which is the widest; but its inputs stay the same for many steps, and its weights change in a simple way. With
stored samples x_i and a step W ← W + Σ_n z_n ⊗ d_n, b ← b + Σ_n d_n, what comes out of the layer changes by

    h_i ← h_i + Σ_n (x_i·z_n + 1) d_n,

which needs inner products of inputs, and no product with W. If the z_n are stored samples themselves, their inner
products are known (the matrix G_ij = x_i·x_j + 1, of which one row and column changes when a sample is replaced). And
then W need not be touched at all: d_n is *owed* to it, as in `gradient_pool`, until the sample leaves or the network
is tested. Both are exact. Measured with 300 stored images of 784 pixels, 256 of them asked for, and two of three steps
in conflict: 1.6 times as fast as taking them through the layer and forming its part of the reference gradient.
"""

import torch

from tacl_lib.core.memory.samples import Reference, Samples
from tacl_lib.core.rows import Rows
from tacl_lib.engine.compiled import add_product, affine, product
from tacl_lib.engine.gradients import Gradient, formed, of_runs, terms
from tacl_lib.engine.layers import Layers, cross_entropy
from tacl_lib.engine.pair import Factor

#: After so many steps the outputs of the layer are recomputed, so that rounding does not add up.
RENEWAL = 1000
FEWEST = 16  #: drawn samples for which a pool pays


class SamplePool:
    """Keeps up with stored samples; empty places hold zeros and count with weight 0."""

    def __init__(self, layers: Layers, samples: Samples):
        self.layers, self.samples = layers, samples
        x, width = samples.x, layers.sizes[1]
        runs, capacity = x.shape[:2]
        self.gram = torch.baddbmm(x.new_ones(1, 1, 1), x, x.mT)  #: G
        self.owed = x.new_zeros(runs, capacity, width)  #: d of every sample
        self.out = x.new_empty(runs, capacity, width)  #: h
        self.rows = Rows(runs, x.device)
        self._steps = 0  # since ``out`` was recomputed
        self._renew()
        samples.watchers.append(self)

    @property
    def x(self) -> torch.Tensor:
        return self.samples.x

    def close(self) -> None:
        """Pay what is owed and follow the samples no longer."""
        self.settle()
        self.samples.watchers.remove(self)

    def pass_through(self, x: torch.Tensor, y: torch.Tensor, reference: Reference) -> tuple[torch.Tensor, "PooledPair"]:
        """Losses of a batch, with its gradient and that of a reference batch of stored samples.

        With many samples it is cheaper to form g_ref than to compare all their pairs, except in the first layer, where
        all inner products of inputs are known.
        """
        layers, count, places = self.layers, x.shape[1], reference.places
        if self._stale:
            self.settle()
        along = self.along(x)
        out = torch.cat([self.first_layer(x, along), self.rows.read(self.out, places)], dim=1)
        inputs, logits = layers.after_first_layer(out)
        weight = torch.cat([torch.full_like(reference.weight[:, :1], 1 / count).expand(-1, count), reference.weight], 1)
        losses, delta = cross_entropy(logits, torch.cat([y, reference.y], dim=1), weight)
        first, *others = layers.backward([x, *inputs], delta)
        # In the first layer: the deltas of the reference samples at their places in the pool, 0 elsewhere.
        of_pool = torch.zeros_like(self.out)
        self.rows.write(of_pool, places, first[:, count:])
        batch, others = (terms(Gradient(inputs, others), *part) for part in ((0, count), (count,)))
        batch = Gradient([x, *batch.inputs], [first[:, :count], *batch.deltas])
        return losses[:, :count], PooledPair(self, batch, along, of_pool, others)

    def along(self, x: torch.Tensor) -> torch.Tensor:
        """x_n·x_i + 1 for all stored samples i: ``[R, n, features]`` to ``[R, n, capacity]``."""
        return product(x, self.x.mT).add_(1.0)

    def first_layer(self, x: torch.Tensor, along: torch.Tensor) -> torch.Tensor:
        """What comes out of the first layer, before ReLU, with what is owed to it: ``[R, n, width]``."""
        return add_product(affine(self.layers.biases[0], x, self.layers.weights[0]), along, self.owed)

    def follow(self, along: torch.Tensor, delta: torch.Tensor, factor: float) -> None:
        """The first layer's weights changed by ``factor`` Σ_n z_n ⊗ δ_n. along ``[R, n, capacity]``: of the z_n."""
        self._steps += 1
        self._settled = False
        if self._steps < RENEWAL:
            add_product(self.out, along.mT, delta, factor)
        else:
            self.settle()

    def owe(self, runs: torch.Tensor, delta: torch.Tensor, change: torch.Tensor, factor: torch.Tensor) -> None:
        """W ← W + ``factor`` Σ_i x_i ⊗ δ_i, later, in k of the runs. factor ``[k]``; change: G δ, like delta."""
        factor = factor.view(-1, 1, 1)
        self._settled = False
        self.owed.index_add_(0, runs, delta * factor)
        self.out.index_add_(0, runs, change * factor)

    def before_replacing(self, place: torch.Tensor) -> None:
        """The sample at ``place [R]`` is about to be replaced: what it owes is paid."""
        weight, bias = self.layers.weights[0], self.layers.biases[0]
        owed = self.rows.read(self.owed, place).unsqueeze(1)
        add_product(weight, self.rows.read(self.x, place).unsqueeze(2), owed)
        bias.add_(owed)
        self.rows.write(self.owed, place, torch.zeros_like(owed.squeeze(1)))

    def after_replacing(self, place: torch.Tensor) -> None:
        """The sample at ``place [R]`` is a new one."""
        sample = self.rows.read(self.x, place).unsqueeze(1)
        along = self.along(sample)
        row = along.squeeze(1)
        self.rows.write(self.gram, place, row)
        self.gram.scatter_(2, place.view(-1, 1, 1).expand(-1, row.shape[1], 1), row.unsqueeze(2))
        self.rows.write(self.out, place, self.first_layer(sample, along).squeeze(1))

    def changed(self) -> None:
        """The weights were changed in a way that could not be followed."""
        self._stale = True

    def settle(self) -> None:
        """Pay everything that is owed, and recompute what was only kept up to date."""
        if self._settled and not self._stale:
            return
        add_product(self.layers.weights[0], self.x.mT, self.owed)
        self.layers.biases[0].add_(self.owed.sum(1, keepdim=True))
        self.owed.zero_()
        self._renew()

    def _renew(self) -> None:
        torch.baddbmm(self.layers.biases[0], self.x, self.layers.weights[0], out=self.out)
        self._steps, self._settled, self._stale = 0, True, False

    def state(self) -> dict:
        """What a checkpoint needs besides the samples."""
        return {"gram": self.gram, "owed": self.owed, "out": self.out, "steps": self._steps}

    def load_state(self, state: dict) -> None:
        self.gram.copy_(state["gram"])
        self.owed.copy_(state["owed"])
        self.out.copy_(state["out"])
        self._steps, self._settled, self._stale = state["steps"], False, False


class PooledPair:
    """∇L(w) of a batch and of a reference batch of stored samples: a `Pair`.

    batch: terms of g. along: x_n·x_i + 1 of the batch and all stored samples. of_pool: deltas of the reference samples
    in the first layer, at their places. others: terms of g_ref in the other layers.
    """

    def __init__(self, pool: SamplePool, batch: Gradient, along: torch.Tensor, of_pool: torch.Tensor, others: Gradient):
        self.pool, self.batch, self.along, self.of_pool, self.others = pool, batch, along, of_pool, others
        self._formed: tuple | None = None  # what `_form` gave, for which runs

    def product(self) -> torch.Tensor:
        higher = Gradient(self.batch.inputs[1:], self.batch.deltas[1:])
        return (product(self.batch.deltas[0], self.of_pool.mT) * self.along).sum((1, 2)) + higher.dot(self.others)

    def square(self, where: torch.Tensor | None) -> torch.Tensor:
        runs, of_pool, change, parts = self._form(where)
        square = sum((part.square().sum((1, 2)) for part in parts), (of_pool * change).sum((1, 2)))
        return square.new_zeros(self.pool.layers.runs).index_copy_(0, runs, square)

    def square_of_batch(self) -> torch.Tensor:
        return self.batch.dot(self.batch)

    def add(self, own: Factor, reference: Factor, factor: Factor) -> None:
        layers, pool = self.pool.layers, self.pool
        if not _zero(own):
            layers.add(self.batch, own * factor)
            pool.follow(self.along, self.batch.deltas[0], own * factor)
        if _zero(reference):
            return
        scale = torch.as_tensor(reference * factor, device=layers.device).expand(layers.runs)
        runs, of_pool, change, parts = self._form(scale != 0)
        pool.owe(runs, of_pool, change, scale[runs])
        for parameter, part in zip((*layers.weights[1:], *layers.biases[1:]), parts, strict=True):
            parameter.index_add_(0, runs, part * scale[runs].view(-1, 1, 1))

    def _form(self, where: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, list[torch.Tensor]]:
        """Form g_ref. On a CPU only in the runs that need it; a GPU must not wait to hear which they are.

        Returns the runs ``[k]``; in the first layer the deltas of the samples and G times them; and the other layers'
        parts, laid out as their parameters.
        """
        everywhere = where is None or where.device.type != "cpu"
        if self._formed is not None and (everywhere or bool(self._formed[0][where].all())):
            return self._formed[1]
        device = self.of_pool.device
        count = self.pool.layers.runs
        runs = torch.arange(count, device=device) if everywhere else where.nonzero().squeeze(1)
        of_pool = self.of_pool[runs]
        found = runs, of_pool, product(self.pool.gram[runs], of_pool), formed(of_runs(self.others, runs))
        self._formed = torch.ones(count, dtype=torch.bool, device=device) if everywhere else where, found
        return found


def pool_pays(layers: Layers, drawn: int, stored: int) -> bool:
    """Whether a pool takes less time than comparing all pairs, with so many reference samples drawn of those stored.

    Measured on a CPU at 784 and 3,072 inputs: pairs cost as much as so many are drawn, a pool as many are stored, each
    about a twelfth; and with few samples its operations are too small. It is written for networks with a hidden layer.
    """
    return len(layers.sizes) > 2 and drawn >= max(FEWEST, stored / 12)


def _zero(factor: Factor) -> bool:
    return not isinstance(factor, torch.Tensor) and factor == 0

"""The multi-layer perceptron of the paper, R at once, behind the interface of `tacl_lib.core.network`.

Whatever a learner asks is answered in the fastest way that is exact. Some changes of weights are only *owed* meanwhile
(see the pools), but nobody can notice: they are paid before anyone looks at the weights or tests the networks.
"""

from collections.abc import Sequence

import torch

from tacl_lib.core.memory.samples import Reference, Samples
from tacl_lib.engine.gradient_pool import RIDGE, GradientPool, PooledGradient
from tacl_lib.engine.gradients import Gradient
from tacl_lib.engine.layers import Layers
from tacl_lib.engine.noisy_weights import noise_for
from tacl_lib.engine.pair import Combination, JointPair
from tacl_lib.engine.sample_pool import SamplePool, pool_pays
from tacl_lib.errors import TaclError


class Mlp:
    """R perceptrons with ReLU between layers; one run for each seed, of which its first weights depend.

    sizes: features, hidden widths, classes, e.g. ``(784, 200, 200, 10)``.
    initialisation: ``"torch"`` (the default of ``nn.Linear``), ``"glorot"`` uniform with zero bias or
        ``"he"`` normal with zero bias.
    """

    inference = True  #: nothing here needs autograd

    def __init__(
        self,
        seeds: Sequence[int],
        sizes: Sequence[int],
        initialisation: str = "torch",
        device: torch.device | str = "cpu",
    ):
        self._layers = Layers(seeds, sizes, initialisation, device)
        self._pool: SamplePool | GradientPool | None = None
        self.seeds, self.sizes, self.device = self._layers.seeds, self._layers.sizes, self._layers.device
        self.runs, self.parameter_count = self._layers.runs, self._layers.parameter_count
        self.features, self.hidden_width, self.classes = self.sizes[0], self.sizes[-2], self.sizes[-1]

    # ---- the true model, for anyone who looks

    @property
    def layers(self) -> Layers:
        """Weights and passes. The weights may be changed in place."""
        if self._pool is not None:
            self._pool.settle()
            if isinstance(self._pool, SamplePool):
                self._pool.changed()
        return self._layers

    @property
    def flat(self) -> torch.Tensor:
        """All parameters of all runs in one piece of memory: weights layer after layer, then biases."""
        return self.layers.flat

    @property
    def weights(self) -> list[torch.Tensor]:
        """Per layer ``[R, in, out]``."""
        return self.layers.weights

    @property
    def biases(self) -> list[torch.Tensor]:
        """Per layer ``[R, 1, out]``."""
        return self.layers.biases

    def views(self, flat: torch.Tensor) -> list[torch.Tensor]:
        """A buffer like ``flat`` as weights ``[R, in, out]`` of every layer, then biases ``[R, 1, out]``."""
        return self._layers.views(flat)

    def vector(self, run: int) -> torch.Tensor:
        """All parameters of one run: weights of every layer, then biases: ``[p]``."""
        return self.layers.vector(run)

    def forward(self, x: torch.Tensor) -> tuple[list[torch.Tensor], torch.Tensor]:
        """What goes into each layer, and the logits f(x; w): ``[R, n, features]`` to ``[R, n, classes]``."""
        return self._settled().forward(x)

    def accuracy(self, x: torch.Tensor, y: torch.Tensor, chunk: int = 1000) -> torch.Tensor:
        """Share of samples classified right, float64 ``[R]``. x ``[R or 1, n, features]``, y ``[R or 1, n]``."""
        if x.dim() == 3 and x.shape[0] == y.shape[0] == 1:
            x, y = x.expand(self.runs, -1, -1), y.expand(self.runs, -1)
        self.check_batch(x, y)
        layers = self._settled()
        right = torch.zeros(self.runs, dtype=torch.int64, device=self.device)
        for images, labels in zip(x.split(chunk, dim=1), y.split(chunk, dim=1), strict=True):
            right += (layers.forward(images)[1].argmax(2) == labels).sum(1)
        return right.double() / y.shape[1]

    # ---- what learners ask

    def check_batch(self, x: torch.Tensor, y: torch.Tensor) -> None:
        """Samples must be ``[R, n, features]``, labels ``[R, n]``. Values are not looked at: that asks the device."""
        self._layers.check_batch(x, y)

    def loss_gradient(
        self, x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor | float | None = None
    ) -> tuple[torch.Tensor, Gradient | PooledGradient]:
        """Losses ``[R, n]``, each times its weight (1/n, if not given), and ∇L(w), the gradient of their sum."""
        if isinstance(self._pool, GradientPool) and weight is None:
            return self._pool.loss_gradient(x, y)
        return self._settled().loss_gradient(x, y, weight)

    def loss_gradients(
        self, x: torch.Tensor, y: torch.Tensor, reference: Reference
    ) -> tuple[torch.Tensor, Combination, Combination]:
        """Losses of a batch, its ∇L(w), and ∇L(w) of a reference batch of stored samples, from one pass."""
        self.check_batch(x, y)
        if isinstance(self._pool, SamplePool) and self._pool.samples is reference.samples:
            losses, pair = self._pool.pass_through(x, y, reference)
        else:
            layers, count = self._settled(), x.shape[1]
            own = torch.full_like(reference.weight[:, :1], 1 / count).expand(-1, count)
            losses, gradient = layers.loss_gradient(
                torch.cat([x, reference.x], dim=1),
                torch.cat([y, reference.y], dim=1),
                torch.cat([own, reference.weight], dim=1),
            )
            losses, pair = losses[:, :count], JointPair(layers, gradient, count)
        return losses, Combination(pair, own=1.0), Combination(pair, reference=1.0)

    def model_gradient(self, x: torch.Tensor, y: torch.Tensor) -> Gradient:
        """∇f_y(x; w): for each sample apart, the gradient of the logit of its label."""
        return self._settled().model_gradient(x, y)

    def hidden(self, x: torch.Tensor) -> torch.Tensor:
        """What the last hidden layer says of samples: ``[R, n, hidden_width]``."""
        return self.forward(x)[0][-1]

    def add(self, gradient, factor: torch.Tensor | float) -> None:
        """w ← w + factor · gradient; factor: a number or ``[R]``."""
        gradient.add_to(self._layers, factor)
        followed = isinstance(gradient, Combination) and not isinstance(gradient.pair, JointPair)
        if isinstance(self._pool, SamplePool) and not followed:
            self._pool.changed()

    def form(self, gradient, buffer: torch.Tensor, keep: float = 0.0) -> None:
        """buffer ← keep · buffer + gradient, laid out as ``flat``."""
        gradient = gradient.gradient if isinstance(gradient, PooledGradient) else gradient
        self._layers.form(gradient, buffer, keep)

    def noise(self):
        """Draws of these networks with noise on every weight, for BGD."""
        return noise_for(self._layers)

    # ---- what is kept ready

    def watch(self, samples: Samples, drawn: int) -> None:
        """Reference batches of ``drawn`` samples will come from these: keep them ready where that saves time."""
        self._close_pool()
        if pool_pays(self._layers, drawn, samples.capacity):
            self._pool = SamplePool(self._layers, samples)

    def forget(self) -> None:
        """Drop what is kept ready, and pay nothing: the weights are about to be replaced."""
        self._pool = None

    def stored_gradients(self, capacity: int, ridge: float = RIDGE) -> GradientPool:
        """Places for model gradients of these networks; a network has one such set."""
        self._close_pool()
        self._pool = GradientPool(self._layers, capacity, ridge)
        return self._pool

    def _close_pool(self) -> None:
        if isinstance(self._pool, SamplePool):
            self._pool.close()
        elif self._pool is not None:
            self._pool.settle()
        self._pool = None

    def _settled(self) -> Layers:
        """The layers with everything paid, for those who only read them."""
        if self._pool is not None:
            self._pool.settle()
        return self._layers

    # ---- checkpoints

    def finite(self) -> torch.Tensor:
        """Whether all weights of a run are finite: bool ``[R]``. Pays nothing: a test must not change what follows."""
        views = self._layers.views(self._layers.flat)
        return torch.stack([torch.isfinite(view).flatten(1).all(1) for view in views]).all(0)

    def state(self) -> dict:
        """Everything that a checkpoint needs: weights as they are, and what is owed to them."""
        return {"weights": self._layers.flat, "pool": self._pool.state() if self._pool is not None else {}}

    def load_state(self, state: dict) -> None:
        if bool(state["pool"]) != (self._pool is not None):  # what one owes to the weights, the other would not know
            raise TaclError(
                "this state is of another reference batch, or of another version of the kit; start from the beginning."
            )
        self._layers.flat.copy_(state["weights"])
        if self._pool is not None:
            self._pool.load_state(state["pool"])

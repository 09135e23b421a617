"""Any `torch.nn.Module`, R at once, behind the interface of `tacl_lib.core.network`.

The trained parameters of R modules are views of one tensor ``[R, p]``: one operation moves all of them, and one call of
autograd finds all gradients. On a CPU the modules are called one after another, as `torch.func.vmap` makes grouped
convolutions of theirs, which take up to four times as long there; on a GPU all are called at once. Gradients are dense
vectors; stored ones are kept as two factors a layer where that takes less (see `traced`). This is the network for
everything that the fast perceptron cannot be, and what a learner asks is the same.
"""

import copy
import math
from collections.abc import Callable, Sequence
from functools import cached_property

import torch
from torch import nn
from torch.func import functional_call, vmap

from tacl_lib.core.checking import check_batch, check_samples, check_whole, checked_device, checked_seeds
from tacl_lib.core.memory.samples import Reference, Samples
from tacl_lib.core.randomness import generator
from tacl_lib.engine.dense import DenseGradient, Layout, ModulePool, SampleGradients
from tacl_lib.engine.fitting import check_autograd, check_module, trained
from tacl_lib.engine.traced import factors, layers_that_pay, watched
from tacl_lib.errors import TaclError


class ModuleNetwork:
    """R modules that map images to logits, one for each seed.

    build: ``build()`` makes a module; it is called once for each seed, with torch's random numbers seeded by it, so
        that a run's first weights depend on its seed alone. What it returns is copied and stays as it is:
        ``lambda: model`` starts every run from the weights of a model of yours.
    image_shape: (height, width, channels) as in `Tasks`; the module is given ``[n, channels, height, width]``. An
        empty one, (), gives it flat samples ``[n, features]``, of which ``features`` says how many.
    classes: how many logits it gives for a sample.

    Frozen parameters (``requires_grad=False``) and buffers stay as they are, in each run its own. Refused are modules
    that mix the samples of a batch, keep statistics of it (BatchNorm) or draw random numbers (Dropout).
    Around a perceptron it agrees with the engine to 1e-5 of the largest weight after 50 steps of any method.
    """

    inference = False  #: autograd is needed, which torch's inference mode rules out

    def __init__(
        self,
        seeds: Sequence[int],
        build: Callable[[], nn.Module],
        image_shape: tuple[int, ...],
        classes: int,
        device: torch.device | str = "cpu",
        features: int | None = None,
    ):
        seeds, device = checked_seeds(seeds, distinct=False), checked_device(device)
        if isinstance(build, nn.Module) or not callable(build):
            raise TaclError("build must be a function that makes a fresh module, such as lambda: nn.Linear(64, 10).")
        self.image_shape = tuple(image_shape) if isinstance(image_shape, Sequence) else None
        if self.image_shape is None or len(image_shape) not in (0, 3) or (not image_shape and features is None):
            raise TaclError(f"image_shape must be (height, width, channels), or () with features, not {image_shape}.")
        self.features, self.classes = math.prod(image_shape) if image_shape else features, classes
        check_whole(features=self.features, classes=classes)
        modules = [_seeded(build, seed) for seed in seeds]
        samples = torch.randn(2, self.features, generator=torch.Generator().manual_seed(0))
        check_module(modules[0], self._shaped(samples), classes)
        self._modules = [module.to(device) for module in modules]
        self._shapes, *others = ({name: p.shape for name, p in trained(module).items()} for module in modules)
        if any(shapes != self._shapes for shapes in others):
            raise TaclError("build must make modules with the same parameters each time.")
        self._flat = torch.stack([torch.cat([p.detach().flatten() for p in trained(m).values()]) for m in modules])
        self._share()
        self.seeds, self.runs, self.device = tuple(seeds), len(seeds), self._flat.device
        self.parameter_count = self._flat.shape[1]
        self._in_one_call = self.device.type != "cpu"
        self._stored: ModulePool | None = None
        #: how gradients of single samples are kept
        layers = layers_that_pay(self._modules[0], trained(self._modules[0]), self._shaped(samples[:1].to(device)))
        self.layout = Layout(self._shapes, layers)

    def _share(self) -> None:
        """Make the parameters of the modules views of ``flat``."""
        for module, flat in zip(self._modules, self._flat, strict=True):
            for parameter, piece in zip(trained(module).values(), self._named(flat).values(), strict=True):
                parameter.data = piece
        self._parameters = [parameter for module in self._modules for parameter in trained(module).values()]

    def __setstate__(self, state: dict) -> None:
        """A copy: torch has copied each parameter for itself."""
        self.__dict__.update(state)
        self._share()

    # ---- the model, for anyone who looks

    @property
    def flat(self) -> torch.Tensor:
        """All parameters of all runs, run after run: ``[R · p]``."""
        return self._flat.view(-1)

    def vector(self, run: int) -> torch.Tensor:
        """All parameters of one run, in the order of the module's: ``[p]``."""
        return self._flat[run].clone()

    def parameters(self, run: int) -> dict[str, torch.Tensor]:
        """The parameters of one run by name, as ``module.load_state_dict(..., strict=False)`` takes them."""
        return {name: tensor.clone() for name, tensor in self._named(self._flat[run]).items()}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The logits f(x; w): ``[R, n, features]`` to ``[R, n, classes]``."""
        self._check_samples(x)
        with torch.no_grad():
            return self._logits(x)

    def accuracy(self, x: torch.Tensor, y: torch.Tensor, chunk: int = 500) -> torch.Tensor:
        """Share of samples classified right, float64 ``[R]``. x ``[R or 1, n, features]``, y ``[R or 1, n]``."""
        if x.dim() == 3 and x.shape[0] == y.shape[0] == 1:
            x, y = x.expand(self.runs, -1, -1), y.expand(self.runs, -1)
        self.check_batch(x, y)
        right = torch.zeros(self.runs, dtype=torch.int64, device=self.device)
        for images, labels in zip(x.split(chunk, dim=1), y.split(chunk, dim=1), strict=True):
            right += (self.forward(images).argmax(2) == labels).sum(1)
        return right.double() / y.shape[1]

    # ---- what learners ask

    def check_batch(self, x: torch.Tensor, y: torch.Tensor) -> None:
        """Samples must be finite ``[R, n, features]``, labels int64 ``[R, n]``."""
        check_batch(x, y, self.runs, self.features, self.classes, self._flat.dtype)

    def loss_gradient(
        self, x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor | float | None = None
    ) -> tuple[torch.Tensor, DenseGradient]:
        """Losses ``[R, n]``, each times its weight (1/n, if not given), and ∇L(w), the gradient of their sum."""
        check_autograd()
        self.check_batch(x, y)
        weight = 1 / y.shape[1] if weight is None else weight
        try:
            with torch.enable_grad():
                losses = -self._logits(x).log_softmax(2).gather(2, y.unsqueeze(2)).squeeze(2) * weight
                found = torch.autograd.grad(losses.sum(), self._parameters, allow_unused=True, materialize_grads=True)
        except (RuntimeError, IndexError) as error:
            if int(y.min()) < 0 or int(y.max()) >= self.classes:
                wrong = f"{y.dtype} in {y.min()} to {y.max()}"
                raise TaclError(f"labels must be int64 in 0 to {self.classes - 1}; these are {wrong}.") from error
            raise
        gradient = torch.cat([piece.reshape(-1) for piece in found]).view(self.runs, -1)
        return losses.detach(), DenseGradient(gradient)

    def loss_gradients(
        self, x: torch.Tensor, y: torch.Tensor, reference: Reference
    ) -> tuple[torch.Tensor, DenseGradient, DenseGradient]:
        """Losses of a batch, its ∇L(w), and ∇L(w) of a reference batch of stored samples."""
        losses, gradient = self.loss_gradient(x, y)
        return losses, gradient, self.loss_gradient(reference.x, reference.y, reference.weight)[1]

    def model_gradient(self, x: torch.Tensor, y: torch.Tensor) -> SampleGradients:
        """∇f_y(x; w): for each sample apart, the gradient of the logit of its label."""
        check_autograd()
        self.check_batch(x, y)
        found = []
        for module, of_run, labels in zip(self._modules, x, y, strict=True):
            samples = [self._factors(module, *one) for one in zip(of_run, labels, strict=True)]
            found.append([torch.stack(pieces) for pieces in zip(*samples, strict=True)])
        return SampleGradients.of([torch.stack(pieces) for pieces in zip(*found, strict=True)])

    def add(self, gradient, factor: torch.Tensor | float) -> None:
        """w ← w + factor · gradient; factor: a number or ``[R]``."""
        factor = factor.unsqueeze(1) if isinstance(factor, torch.Tensor) else factor
        self._flat.add_(gradient.vector * factor)

    def form(self, gradient: DenseGradient, buffer: torch.Tensor, keep: float = 0.0) -> None:
        """buffer ← keep · buffer + gradient, laid out as ``flat``."""
        buffer.mul_(keep).add_(gradient.vector.view(-1))

    def hidden(self, x: torch.Tensor) -> torch.Tensor:
        """What the last hidden layer says of samples: ``[R, n, hidden_width]``, the input of the last linear layer."""
        self._check_samples(x)
        seen = []
        for module, of_run in zip(self._modules, x, strict=True):
            head = module.get_submodule(self._head)
            with torch.no_grad(), watched(module, [head], lambda *call: seen.append(call[2][0])):
                module(self._shaped(of_run))
        return torch.stack([given.flatten(1) for given in seen])

    @property
    def hidden_width(self) -> int:
        """How many numbers `hidden` gives of a sample."""
        return self._modules[0].get_submodule(self._head).in_features

    def noise(self) -> "ModuleNoise":
        """Draws of these networks with noise on every weight, for BGD."""
        return ModuleNoise(self)

    def watch(self, samples: Samples, drawn: int) -> None:
        """Nothing can be kept ready for stored samples here."""

    def forget(self) -> None:
        """Nothing is owed here."""

    def stored_gradients(self, capacity: int, ridge: float = 1e-6) -> ModulePool:
        """Places for model gradients of these networks."""
        self._stored = ModulePool(self, capacity, ridge)
        return self._stored

    # ---- checkpoints

    def finite(self) -> torch.Tensor:
        """Whether all weights of a run are finite: bool ``[R]``."""
        return torch.isfinite(self._flat).all(1)

    def state(self) -> dict:
        """Everything that a checkpoint needs."""
        return {"weights": self.flat, "stored": self._stored.state() if self._stored is not None else {}}

    def load_state(self, state: dict) -> None:
        """Go on from there."""
        self.flat.copy_(state["weights"])
        if self._stored is not None:
            self._stored.load_state(state["stored"])

    # ---- within

    def _named(self, flat: torch.Tensor) -> dict[str, torch.Tensor]:
        """A vector ``[p]`` as the trained parameters."""
        pieces = flat.split([math.prod(shape) for shape in self._shapes.values()])
        return {name: piece.view(self._shapes[name]) for name, piece in zip(self._shapes, pieces, strict=True)}

    def _shaped(self, x: torch.Tensor) -> torch.Tensor:
        """``[n, features]`` as the module takes it."""
        return x.unflatten(1, self.image_shape).permute(0, 3, 1, 2) if self.image_shape else x

    def _logits(self, x: torch.Tensor) -> torch.Tensor:
        """Of all runs: ``[R, n, features]`` to ``[R, n, classes]``."""
        if not self._in_one_call:
            return torch.stack([module(self._shaped(of_run)) for module, of_run in zip(self._modules, x, strict=True)])

        def logits(state, x):
            return functional_call(self._modules[0], state, (self._shaped(x),))

        states = [dict(module.named_parameters()) | dict(module.named_buffers()) for module in self._modules]
        return vmap(logits)({name: torch.stack([state[name] for state in states]) for name in states[0]}, x)

    def _factors(self, module: nn.Module, sample: torch.Tensor, label: torch.Tensor) -> list[torch.Tensor]:
        """∇f_y of one sample of one run: the tensors of `SampleGradients`."""
        return factors(module, self.layout.layers, trained(module), self._shaped(sample[None]), label)

    @cached_property
    def _head(self) -> str:
        """The name of the linear layer that gives the logits."""
        module, called = self._modules[0], []
        linear = [layer for layer in module.modules() if isinstance(layer, nn.Linear)]
        with torch.no_grad(), watched(module, linear, lambda name, *_: called.append(name)):
            module(self._shaped(self._flat.new_zeros(1, self.features)))
        if not called or module.get_submodule(called[-1]).out_features != self.classes:
            raise TaclError(
                f"the module has no last nn.Linear with {self.classes} outputs, so nobody can tell its hidden layer; "
                "use space='x'."
            )
        return called[-1]

    def _check_samples(self, x: torch.Tensor) -> None:
        check_samples(x, self.runs, self.features, self._flat.dtype)


class ModuleNoise:
    """BGD on any network: draw by draw, in torch's own operations."""

    name = "torch"  #: of the generator, for records

    def __init__(self, network: ModuleNetwork):
        self._sources = [torch.Generator(network.device) for _ in network.seeds]
        self._network = network
        self.begin(0)

    def begin(self, step: int) -> None:
        """Start the noise of a step."""
        for seed, source in zip(self._network.seeds, self._sources, strict=True):
            source.manual_seed(int(generator(seed, "noise", step).integers(2**63)))

    def learn(self, mean: ModuleNetwork, std: torch.Tensor, x, y, weight: float, passes: int, rate: float):
        """μ ← μ - rate σ² E[g] and σ ← σ √(1 + h²) - σ h, h = ½ σ E[g ε], in place; returns losses ``[R]``."""
        μ, σ = mean.flat.view(mean.runs, -1), std.view(mean.runs, -1)
        loss, sum_g, sum_gε, centre = 0.0, torch.zeros_like(μ), torch.zeros_like(μ), μ.clone()
        try:
            for _ in range(passes):
                ε = torch.stack([torch.randn(μ.shape[1], generator=s, device=μ.device) for s in self._sources])
                torch.addcmul(centre, ε, σ, out=μ)
                losses, g = mean.loss_gradient(x, y, weight)
                loss = loss + losses.sum(1)
                sum_g += g.vector
                sum_gε += g.vector * ε
        finally:
            μ.copy_(centre)
        half = 0.5 * σ * sum_gε
        μ.sub_(rate * σ.square() * sum_g)
        σ.mul_((1 + half.square()).sqrt() - half)
        return loss


def _seeded(build: Callable[[], nn.Module], seed: int) -> nn.Module:
    """A module of our own, whose first weights depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(generator(seed, "weights").integers(2**63)))
        module = build()
    if not isinstance(module, nn.Module):
        raise TaclError(f"build must make a torch.nn.Module, not {type(module).__name__}.")
    try:
        return copy.deepcopy(module)
    except Exception as error:  # it is a user's class: anything can happen
        raise TaclError(f"the module cannot be copied: {error}.") from error

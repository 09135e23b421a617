"""Any `torch.nn.Module`, R at once, behind the interface of `tacl_lib.core.network`.

The parameters of R modules are stacked, and `torch.func` runs all of them in one call. Gradients are dense vectors;
stored ones are kept as two factors a layer where that takes less (see `traced`). This is the network for everything
that the fast perceptron cannot be, and what a learner asks is the same.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import nn
from torch.func import functional_call, grad, grad_and_value, stack_module_state, vmap

from tacl_lib.core.checking import check_batch, check_samples, checked_device, checked_seeds
from tacl_lib.core.memory.samples import Reference, Samples
from tacl_lib.core.randomness import generator
from tacl_lib.engine.dense import DenseGradient, Layout, ModulePool, SampleGradients
from tacl_lib.engine.traced import Layer, factors, layers_that_pay
from tacl_lib.errors import TaclError


class ModuleNetwork:
    """R modules that map images to logits, one for each seed.

    build: ``build()`` makes a module with fresh parameters; it is called once for each seed, with torch's random
        numbers seeded by it, so that a run's first weights depend on its seed alone.
    image_shape: (height, width, channels) as in `Tasks`; the module is given ``[n, channels, height, width]``. An
        empty one, (), gives it flat samples ``[n, features]``, of which ``features`` says how many.

    Around a perceptron it agrees with the engine to 1e-5 of the largest weight after 50 steps of any method.
    """

    inference = False  #: `torch.func` needs autograd, which torch's inference mode rules out

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
        if len(image_shape) not in (0, 3) or (not image_shape and features is None):
            raise TaclError(f"image_shape must be (height, width, channels), or () with features, not {image_shape}.")
        modules = [_seeded(build, seed).to(device) for seed in seeds]
        _check_modules(modules)
        stacked, _ = stack_module_state(modules)
        self._buffers = {name: buffer.clone() for name, buffer in modules[0].named_buffers()}  # constants
        self._module = modules[0].to("meta")
        self._names, self._shapes = list(stacked), [tensor.shape[1:] for tensor in stacked.values()]
        self._flat = torch.cat([tensor.detach().flatten(1) for tensor in stacked.values()], dim=1)  # [R, p]
        self.seeds, self.runs, self.device = tuple(seeds), len(seeds), self._flat.device
        self.image_shape, self.classes = tuple(image_shape), classes
        self.features = math.prod(image_shape) if image_shape else features
        self.parameter_count = self._flat.shape[1]
        self._stored: ModulePool | None = None
        self._check_output()
        #: how gradients of single samples are kept
        self.layout = Layout(dict(zip(self._names, self._shapes, strict=True)), self._factored_layers())

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
            return vmap(self._logits)(self._flat, x)

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
        self.check_batch(x, y)
        weight = 1 / y.shape[1] if weight is None else weight
        weight = weight if isinstance(weight, torch.Tensor) else torch.full_like(x[:, :, 0], weight)
        return self._loss_gradient_at(self._flat, x, y, weight)

    def loss_gradients(
        self, x: torch.Tensor, y: torch.Tensor, reference: Reference
    ) -> tuple[torch.Tensor, DenseGradient, DenseGradient]:
        """Losses of a batch, its ∇L(w), and ∇L(w) of a reference batch of stored samples."""
        losses, gradient = self.loss_gradient(x, y)
        return losses, gradient, self.loss_gradient(reference.x, reference.y, reference.weight)[1]

    def model_gradient(self, x: torch.Tensor, y: torch.Tensor) -> SampleGradients:
        """∇f_y(x; w): for each sample apart, the gradient of the logit of its label."""
        self.check_batch(x, y)
        rest, goes_in, delta = vmap(vmap(self._factors, in_dims=(None, 0, 0)))(self._flat, x, y)
        # Copies that depend on nothing: what vmap returns may be views of a batch, or of the samples.
        return SampleGradients(rest, [a.contiguous() for a in goes_in], [d.contiguous() for d in delta])

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
        layer = self._last_linear()

        def reached(flat, x):
            seen = []
            handle = layer.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
            try:
                self._logits(flat, x)
            finally:
                handle.remove()
            return seen[-1].flatten(1)

        with torch.no_grad():
            return vmap(reached)(self._flat, x)

    @property
    def hidden_width(self) -> int:
        """How many numbers `hidden` gives of a sample."""
        return self._last_linear().in_features

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
        return {"weights": self.flat, "stored": self._stored.state() if self._stored is not None else {}}

    def load_state(self, state: dict) -> None:
        self.flat.copy_(state["weights"])
        if self._stored is not None:
            self._stored.load_state(state["stored"])

    # ---- within

    def _named(self, flat: torch.Tensor) -> dict[str, torch.Tensor]:
        """A vector ``[p]`` as the module's parameters."""
        pieces = flat.split([math.prod(shape) for shape in self._shapes])
        return {n: piece.view(shape) for n, piece, shape in zip(self._names, pieces, self._shapes, strict=True)}

    def _logits(self, flat: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """Of one run: ``[n, features]`` to ``[n, classes]``."""
        return functional_call(self._module, self._named(flat) | self._buffers, (self._shaped(x),))

    def _shaped(self, x: torch.Tensor) -> torch.Tensor:
        """``[n, features]`` as the module takes it."""
        return x.unflatten(1, self.image_shape).permute(0, 3, 1, 2) if self.image_shape else x

    def _factors(self, flat: torch.Tensor, sample: torch.Tensor, label: torch.Tensor, layers=None):
        """∇f_y of one sample of one run, in the pieces of `SampleGradients`."""
        layers, given = self.layout.layers if layers is None else layers, self._named(flat) | self._buffers
        x = self._shaped(sample.unsqueeze(0))
        of_rest, goes_in, delta = factors(self._module, layers, given, x, label)
        whole = [of_rest[name].flatten() for name in self._names if name in of_rest]
        return torch.cat(whole) if whole else flat[:0], goes_in, delta

    def _factored_layers(self) -> list[Layer]:
        """The layers whose stored gradients are kept as two factors; none if that does not give the true gradient.

        A module can do with a layer what nobody sees from outside, such as use its weight a second time, so one sample
        is tried both ways.
        """
        flat, shapes = self._flat[0], dict(zip(self._names, self._shapes, strict=True))
        source = torch.Generator().manual_seed(0)
        sample = torch.randn(self.features, generator=source).to(self.device)
        label = torch.zeros((), dtype=torch.int64, device=self.device)
        with torch.no_grad():
            names = set(self._names)
            layers = layers_that_pay(self._module, lambda: self._logits(flat, sample.unsqueeze(0)), names)
        if not layers:
            return []

        def logit(flat):
            return self._logits(flat, sample.unsqueeze(0))[0, 0]

        try:
            rest, goes_in, delta = self._factors(flat, sample, label, layers)
        except RuntimeError:
            return []
        parts = SampleGradients.of([tensor[None, None] for tensor in (rest, *goes_in, *delta)])
        found = Layout(shapes, layers).combined(parts, torch.ones(1, 1, device=self.device))[0]
        true = grad(logit)(flat)
        return layers if (found - true).abs().max() <= 1e-4 * true.abs().max() else []

    def _last_linear(self) -> nn.Linear:
        """The layer that gives the logits."""
        called = []
        handles = [
            layer.register_forward_hook(lambda layer, given, out: called.append(layer))
            for layer in self._module.modules()
            if isinstance(layer, nn.Linear)
        ]
        try:
            with torch.no_grad():
                self._logits(self._flat[0], torch.zeros(1, self.features, device=self.device))
        finally:
            for handle in handles:
                handle.remove()
        if not called or called[-1].out_features != self.classes:
            raise TaclError(
                f"the module has no last nn.Linear with {self.classes} outputs, so nobody can tell its hidden layer; "
                "use space='x'."
            )
        return called[-1]

    def _loss_gradient_at(self, flat: torch.Tensor, x, y, weight) -> tuple[torch.Tensor, DenseGradient]:
        def loss(flat, x, y, weight):
            logits = self._logits(flat, x)
            losses = -logits.log_softmax(1).gather(1, y.unsqueeze(1)).squeeze(1) * weight
            return losses.sum(), losses

        try:
            gradient, (_, losses) = vmap(grad_and_value(loss, has_aux=True))(flat, x, y, weight)
        except (RuntimeError, IndexError) as error:
            if y.dtype != torch.int64 or int(y.min()) < 0 or int(y.max()) >= self.classes:
                found = f"{y.dtype} in {y.min()} to {y.max()}"
                raise TaclError(f"labels must be int64 in 0 to {self.classes - 1}; these are {found}.") from error
            raise
        return losses.detach(), DenseGradient(gradient)

    def _check_samples(self, x: torch.Tensor) -> None:
        check_samples(x, self.runs, self.features, self._flat.dtype)

    def _check_output(self) -> None:
        """One sample through the module: it must give the logits of all classes."""
        sample = torch.zeros(1, self.features, device=self.device)
        try:
            with torch.no_grad():
                found = tuple(self._logits(self._flat[0], sample).shape)
        except RuntimeError as error:
            shape = (self.image_shape[2], *self.image_shape[:2]) if self.image_shape else (self.features,)
            reason = str(error).splitlines()[0]
            raise TaclError(f"the module cannot take samples of the shape {shape}: {reason}.") from error
        if found != (1, self.classes):
            raise TaclError(f"the module must give {self.classes} logits for a sample, not the shape {found[1:]}.")


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
        loss, sum_g, sum_gε = 0.0, torch.zeros_like(μ), torch.zeros_like(μ)
        weights = torch.full_like(x[:, :, 0], weight)
        for _ in range(passes):
            ε = torch.stack([torch.randn(μ.shape[1], generator=s, device=μ.device) for s in self._sources])
            losses, g = mean._loss_gradient_at(μ + ε * σ, x, y, weights)
            loss = loss + losses.sum(1)
            sum_g += g.vector
            sum_gε += g.vector * ε
        half = 0.5 * σ * sum_gε
        μ.sub_(rate * σ.square() * sum_g)
        σ.mul_((1 + half.square()).sqrt() - half)
        return loss


def _seeded(build: Callable[[], nn.Module], seed: int) -> nn.Module:
    """A module whose first weights depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(generator(seed, "weights").integers(2**63)))
        module = build()
    if not isinstance(module, nn.Module):
        raise TaclError(f"build must make a torch.nn.Module, not {type(module).__name__}.")
    return module


def _check_modules(modules: list[nn.Module]) -> None:
    for module in modules[0].modules():
        if isinstance(module, nn.modules.batchnorm._NormBase) and module.track_running_stats:
            raise TaclError(
                f"{type(module).__name__} keeps running statistics, which a continual stream spoils and which runs "
                "would share; use nn.GroupNorm."
            )
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            raise TaclError(
                f"{type(module).__name__} mixes the samples of a batch, so that none has a gradient of its own; "
                "use nn.GroupNorm."
            )
        if isinstance(module, nn.modules.dropout._DropoutNd) and module.p > 0:
            kind = type(module).__name__
            raise TaclError(f"{kind} draws random numbers that no seed of a run controls; leave it out.")
    if not any(parameter.requires_grad for parameter in modules[0].parameters()):
        raise TaclError("the module has no parameters to train.")

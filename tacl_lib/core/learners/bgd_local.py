"""BGD with the noise drawn at the outputs of the layers: a faster estimate of the same expectations."""

import torch

from tacl_lib.core.learners.base import register
from tacl_lib.core.learners.bgd import Bgd
from tacl_lib.engine.network import Network, cross_entropy


@register
class BgdLocal(Bgd):
    """BGD with local reparameterisation (Kingma et al., 2015). Not the paper's BGD, and reported apart.

    The output of a layer with weights N(μ, σ²) and input a is normal with mean a μ and variance a² σ². So
    it is enough to draw it: 410 numbers a sample instead of 199,210. The noise of a weight is then another
    one for each sample; the expectations of g and g ε stay the same, with less variance:
        E[g] = E[aᵀ δ],   E[g ε] = ∂E[L]/∂σ = σ ⊙ E[(a²)ᵀ κ],   κ = δ ε / √(a² σ²).
    """

    name = "bgd_local"

    def expectations(self, network: Network, std: torch.Tensor, x, y):
        layers, passes = len(network.weights), self.passes
        means, variances = network.views(network.flat), network.views(std.square())
        mean_gradient, gradient_noise = torch.empty_like(std), torch.empty_like(std)
        of_mean, of_noise = network.views(mean_gradient), network.views(gradient_noise)
        runs, count = y.shape

        # All passes are rows of one batch. They share the images, so the first layer is computed once.
        inputs, noises = [x], []
        for layer in range(layers):
            given = inputs[-1]
            mean = torch.baddbmm(means[layers + layer], given, means[layer])
            spread = torch.baddbmm(variances[layers + layer], given.square(), variances[layer]).sqrt_()
            if layer == 0:
                mean, spread = mean.repeat(1, passes, 1), spread.repeat(1, passes, 1)
            noise = torch.empty_like(mean)
            for run, numbers in enumerate(noise):
                self.noise.normal(run, numbers)
            out = torch.addcmul(mean, spread, noise)
            noises.append(noise.div_(spread))  # ε / √(a² σ²)
            inputs.append(out.relu_() if layer < layers - 1 else out)

        weight = self._sample_weight(y) / passes
        losses, delta = cross_entropy(inputs.pop(), y.repeat(1, passes), weight)
        for layer in range(layers - 1, -1, -1):
            given, kappa = inputs[layer], delta * noises[layer]
            if layer:
                back = torch.bmm(delta, means[layer].mT)
                back.addcmul_(given, torch.bmm(kappa, variances[layer].mT))
                before = back.mul_(given > 0)
            else:  # sums over the passes, as the images are the same
                before = None
                delta, kappa = (t.view(runs, passes, count, -1).sum(1) for t in (delta, kappa))
            torch.bmm(given.mT, delta, out=of_mean[layer])
            torch.sum(delta, 1, keepdim=True, out=of_mean[layers + layer])
            torch.bmm(given.square().mT, kappa, out=of_noise[layer])
            torch.sum(kappa, 1, keepdim=True, out=of_noise[layers + layer])
            delta = before
        loss = losses.sum(1) / (count * self._sample_weight(y))
        return loss, mean_gradient, gradient_noise.mul_(std)

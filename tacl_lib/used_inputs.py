"""The inputs that a batch uses: behind a pixel that is 0 in the whole batch, weights neither act nor learn.

Ten images of MNIST leave half of all pixels black. For methods that work on every single weight, as BGD does,
a network of the other half gives the same step in less time.
"""

import torch

from tacl_lib.network import Network


class UsedInputs:
    """Which inputs of R runs are not 0 everywhere in a batch x ``[R, n, features]``.

    How many there are decides the shape of all that follows, so the host has to look: for tensors on the CPU.
    """

    def __init__(self, x: torch.Tensor):
        used = (x != 0).any(1)
        self.counts: list[int] = used.sum(1).tolist()  #: of every run
        width = max(1, *self.counts)
        #: int64 ``[R, width]``: the used inputs of a run in order, then unused ones that fill its row
        self.index = used.to(torch.uint8).argsort(dim=1, descending=True, stable=True)[:, :width]
        self._run = torch.arange(len(x)).unsqueeze(1)

    def of_samples(self, x: torch.Tensor) -> torch.Tensor:
        """The batch without unused inputs: ``[R, n, width]``."""
        return x.gather(2, self.index.unsqueeze(1).expand(-1, x.shape[1], -1))

    def of_parameters(self, network: Network, flat: torch.Tensor) -> torch.Tensor:
        """A buffer like ``network.flat`` without the weights of unused inputs; a copy."""
        first = network.views(flat)[0]
        return torch.cat([first[self._run, self.index].flatten(), flat[first.numel() :]])

    def put_back(self, network: Network, flat: torch.Tensor, changed: torch.Tensor) -> None:
        """Write what `of_parameters` took, and what was changed since, to its place in ``flat``."""
        first = network.views(flat)[0]
        others = len(flat) - first.numel()
        first[self._run, self.index] = changed[:-others].view(*self.index.shape, -1)
        flat[first.numel() :] = changed[-others:]

    def network(self, whole: Network, flat: torch.Tensor) -> Network:
        """A network of these inputs on parameters from `of_parameters`."""
        return Network.over(flat, whole.seeds, (self.index.shape[1], *whole.sizes[1:]))

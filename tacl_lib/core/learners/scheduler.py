"""The learning-rate scheduler of the paper's appendix, for R runs at once."""

import torch


class Scheduler:
    """Lowers the learning rate when the loss stagnates, and resets it when the loss spikes.

    The paper's "Learning Rate Scheduler" box, branch by branch; each `if` is a `torch.where` over runs. (Section 3 of
    the paper says that the rate is lowered when the loss increases; here we follow the box.)
    """

    FACTOR, MIN_RATE, PATIENCE, THRESHOLD, RESET_THRESHOLD = 0.9999, 1e-5, 5, 1e-4, 1.0

    def __init__(self, runs: int, rate: float, device: torch.device | str = "cpu", adapts: bool = True):
        """adapts: False keeps the initial rate."""
        self.first_rate, self.adapts = rate, adapts
        like = {"dtype": torch.float64, "device": device}
        self.rate = torch.full((runs,), rate, **like)  #: LR
        self.best = torch.full((runs,), torch.inf, **like)  #: Best
        self.stagnant = torch.zeros(runs, **like)  #: N_Stagnant
        self.spikes = torch.zeros(runs, **like)  #: N_Spike

    def step(self, loss: torch.Tensor) -> None:
        """Update the rate from the loss of a batch, ``[R]``."""
        if not self.adapts:
            return
        loss = loss.double()
        better = loss < self.best * (1 - self.THRESHOLD)
        self.best = torch.where(better, loss, self.best)
        self.stagnant = torch.where(better, 0.0, self.stagnant + 1)

        self.spikes = torch.where(loss > self.best + self.RESET_THRESHOLD, self.spikes + 1, 0.0)

        reset = self.spikes > self.PATIENCE
        self.rate = torch.where(reset, self.first_rate, self.rate)
        self.best = torch.where(reset, loss, self.best)
        self.spikes = torch.where(reset, 0.0, self.spikes)

        lower = self.stagnant > self.PATIENCE
        self.rate = torch.where(lower, (self.rate * self.FACTOR).clamp(min=self.MIN_RATE), self.rate)
        self.stagnant = torch.where(lower, 0.0, self.stagnant)

    def state(self) -> dict[str, torch.Tensor]:
        return {name: getattr(self, name) for name in ("rate", "best", "stagnant", "spikes")}

    def load_state(self, state: dict[str, torch.Tensor]) -> None:
        for name, value in state.items():
            setattr(self, name, value)

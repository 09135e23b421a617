"""The algorithm box 'Learning Rate Scheduler' (appendix E), line by line, with Python floats."""

import math


class LearningRateScheduler:
    """Note that the reset does not touch N_Stagnant. A spike is also a stagnant step, so if N_Stagnant was 0 before the
    spikes, both ifs fire in the same step and the rate returned is LR init * Factor, not LR init."""

    def __init__(self, factor=0.9999, min_lr=1e-5, lr_init=1e-3, patience=5, threshold=1e-4, reset_threshold=1.0):
        self.factor = factor
        self.min_lr = min_lr
        self.lr_init = lr_init
        self.patience = patience
        self.best = math.inf
        self.n_stagnant = 0
        self.n_spike = 0
        self.threshold = threshold
        self.reset_threshold = reset_threshold

    def step(self, loss, lr):
        """Procedure STEP(Loss, LR)."""
        loss = float(loss)
        if loss < self.best * (1 - self.threshold):
            self.best = loss
            self.n_stagnant = 0
        else:
            self.n_stagnant = self.n_stagnant + 1
        if loss > self.best + self.reset_threshold:
            self.n_spike = self.n_spike + 1
        else:
            self.n_spike = 0
        if self.n_spike > self.patience:
            lr = self.lr_init
            self.best = loss
            self.n_spike = 0
        if self.n_stagnant > self.patience:
            lr = max(lr * self.factor, self.min_lr)
            self.n_stagnant = 0
        return lr

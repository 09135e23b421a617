"""SGD with the learning-rate scheduler: the paper's baseline that infers task changes from the loss."""

from tacl_lib.plain.network import stable_loss
from tacl_lib.plain.scheduler import LearningRateScheduler
from tacl_lib.plain.sgd import LR, sgd_step


class SgdLrAdapt:
    def __init__(self, network, lr=LR):
        self.network, self.lr = network, lr
        self.scheduler = LearningRateScheduler(lr_init=lr)

    def step(self, x, y):
        loss = stable_loss(self.network.f(x), y)
        sgd_step(self.network, x, y, self.lr)
        self.lr = self.scheduler.step(loss, self.lr)  # takes effect in the next step

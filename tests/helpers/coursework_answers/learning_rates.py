"""Answers to exercise 3 of set 2. Most wrong ones are the class below with one line changed."""

from itertools import accumulate

import numpy as np

from coursework_answers import right, wrong


class Box:
    """The box of the paper, a method for each rule. Subclasses get one of them wrong."""

    def __init__(self, first_rate, factor, min_rate, patience, threshold, reset_threshold):
        self.first_rate, self.factor, self.min_rate, self.patience = first_rate, factor, min_rate, patience
        self.threshold, self.reset_threshold = threshold, reset_threshold
        self.rate, self.best, self.before, self.stagnant, self.spikes = first_rate, np.inf, np.inf, 0, 0

    def progress(self, loss):
        if loss < self.best * (1 - self.threshold):
            self.best = loss
            self.stagnant = 0
        else:
            self.stagnant += 1

    def count_spikes(self, loss):
        if loss > self.best + self.reset_threshold:
            self.spikes += 1
        else:
            self.spikes = 0

    def set_back(self, loss):
        if self.spikes > self.patience:
            self.rate = self.first_rate
            self.best = loss
            self.spikes = 0

    def lower(self):
        if self.stagnant > self.patience:
            self.rate = max(self.rate * self.factor, self.min_rate)
            self.stagnant = 0

    def step(self, loss):
        self.progress(loss)
        self.count_spikes(loss)
        self.set_back(loss)
        self.lower()
        self.before = loss

    @classmethod
    def run(cls, losses, *settings):
        box, rates = cls(*settings), []
        for loss in losses:
            box.step(loss)
            rates.append(box.rate)
        return rates


@right
def as_a_class(losses, first_rate, factor, min_rate, patience, threshold, reset_threshold):
    return Box.run(losses, first_rate, factor, min_rate, patience, threshold, reset_threshold)


@right
def as_a_fold(losses, first_rate, factor, min_rate, patience, threshold, reset_threshold):
    """The state is a tuple, and nothing is ever changed."""

    def step(state, loss):
        rate, best, stagnant, spikes = state
        better = loss < best - best * threshold if np.isfinite(best) else True
        best, stagnant = (loss, 0) if better else (best, stagnant + 1)
        spikes = (spikes + 1) * (loss - best > reset_threshold)
        if spikes == patience + 1:
            rate, best, spikes = first_rate, loss, 0
        if stagnant == patience + 1:
            rate, stagnant = (rate * factor if rate * factor > min_rate else min_rate), 0
        return rate, best, stagnant, spikes

    states = accumulate(losses, step, initial=(first_rate, np.inf, 0, 0))
    return np.array([state[0] for state in states])[1:]


@wrong("you took every small improvement for progress")
def any_improvement(losses, *settings):
    class Wrong(Box):
        def progress(self, loss):
            if loss < self.best:
                self.best, self.stagnant = loss, 0
            else:
                self.stagnant += 1

    return Wrong.run(losses, *settings)


@wrong("the threshold is relative")
def absolute_threshold(losses, *settings):
    class Wrong(Box):
        def progress(self, loss):
            if self.best - loss > self.threshold:
                self.best, self.stagnant = loss, 0
            else:
                self.stagnant += 1

    return Wrong.run(losses, *settings)


@wrong("you compared with the loss of the batch before; compare with the best one")
def compares_with_the_batch_before(losses, *settings):
    class Wrong(Box):
        def progress(self, loss):
            if loss < self.before * (1 - self.threshold):
                self.best, self.stagnant = loss, 0
            else:
                self.stagnant += 1

    return Wrong.run(losses, *settings)


@wrong("you lowered the rate when the loss rises")
def lowers_when_it_rises(losses, *settings):
    class Wrong(Box):
        def progress(self, loss):
            self.stagnant = self.stagnant + 1 if loss > self.before else 0
            if loss < self.best * (1 - self.threshold):
                self.best = loss

    return Wrong.run(losses, *settings)


@wrong("you moved best with every small improvement")
def always_the_smallest(losses, *settings):
    class Wrong(Box):
        def progress(self, loss):
            super().progress(loss)
            self.best = min(self.best, loss)

    return Wrong.run(losses, *settings)


@wrong("counter of stagnation to 0 when there was progress")
def counts_on_after_progress(losses, *settings):
    class Wrong(Box):
        def progress(self, loss):
            if loss < self.best * (1 - self.threshold):
                self.best = loss
            else:
                self.stagnant += 1

    return Wrong.run(losses, *settings)


@wrong("counter of stagnation to 0 after lowering the rate")
def lowers_with_every_batch(losses, *settings):
    class Wrong(Box):
        def lower(self):
            if self.stagnant > self.patience:
                self.rate = max(self.rate * self.factor, self.min_rate)

    return Wrong.run(losses, *settings)


@wrong("off by one: both counters must be larger than patience")
def patience_too_short(losses, first_rate, factor, min_rate, patience, threshold, reset_threshold):
    return Box.run(losses, first_rate, factor, min_rate, patience - 1, threshold, reset_threshold)


@wrong("off by one: the rate falls only when")
def lowers_too_soon(losses, *settings):
    class Wrong(Box):
        def lower(self):
            if self.stagnant >= self.patience:
                self.rate, self.stagnant = max(self.rate * self.factor, self.min_rate), 0

    return Wrong.run(losses, *settings)


@wrong("off by one: the rate is set back only when")
def sets_back_too_soon(losses, *settings):
    class Wrong(Box):
        def set_back(self, loss):
            if self.spikes >= self.patience:
                self.rate, self.best, self.spikes = self.first_rate, loss, 0

    return Wrong.run(losses, *settings)


@wrong("you did not wait")
def no_patience(losses, *settings):
    class Wrong(Box):
        def lower(self):
            if self.stagnant:
                self.rate, self.stagnant = max(self.rate * self.factor, self.min_rate), 0

    return Wrong.run(losses, *settings)


@wrong("spikes must follow one another")
def adds_up_all_spikes(losses, *settings):
    class Wrong(Box):
        def count_spikes(self, loss):
            self.spikes += loss > self.best + self.reset_threshold

    return Wrong.run(losses, *settings)


@wrong("you left out best")
def spikes_without_best(losses, *settings):
    class Wrong(Box):
        def count_spikes(self, loss):
            self.spikes = self.spikes + 1 if loss > self.reset_threshold else 0

    return Wrong.run(losses, *settings)


@wrong("a spike is a loss above best + reset_threshold; you compared with the loss of the batch before")
def spikes_against_the_batch_before(losses, *settings):
    class Wrong(Box):
        def count_spikes(self, loss):
            self.spikes = self.spikes + 1 if loss - self.before > self.reset_threshold else 0

    return Wrong.run(losses, *settings)


@wrong("you never set the rate back")
def never_set_back(losses, *settings):
    class Wrong(Box):
        def set_back(self, loss):
            pass

    return Wrong.run(losses, *settings)


@wrong("you raised it by one step")
def raises_by_a_step(losses, *settings):
    class Wrong(Box):
        def set_back(self, loss):
            if self.spikes > self.patience:
                self.rate, self.best, self.spikes = min(self.first_rate, self.rate / self.factor), loss, 0

    return Wrong.run(losses, *settings)


@wrong("you did not move best when the rate was set back")
def keeps_the_old_best(losses, *settings):
    class Wrong(Box):
        def set_back(self, loss):
            if self.spikes > self.patience:
                self.rate, self.spikes = self.first_rate, 0

    return Wrong.run(losses, *settings)


@wrong("counter of spikes to 0 after setting the rate back")
def keeps_counting_spikes(losses, *settings):
    class Wrong(Box):
        def set_back(self, loss):
            if self.spikes > self.patience:
                self.rate, self.best = self.first_rate, loss

    return Wrong.run(losses, *settings)


@wrong("leaves the counter of stagnation as it is")
def begins_quite_anew(losses, *settings):
    class Wrong(Box):
        def set_back(self, loss):
            if self.spikes > self.patience:
                self.rate, self.best, self.spikes, self.stagnant = self.first_rate, loss, 0, 0

    return Wrong.run(losses, *settings)


@wrong("(no elif)")
def one_or_the_other(losses, first_rate, factor, min_rate, patience, threshold, reset_threshold):
    rate, best, stagnant, spikes, rates = first_rate, float("inf"), 0, 0, []
    for loss in losses:
        if loss < best * (1 - threshold):
            best, stagnant = loss, 0
        else:
            stagnant += 1
        spikes = spikes + 1 if loss > best + reset_threshold else 0
        if spikes > patience:
            rate, best, spikes = first_rate, loss, 0
        elif stagnant > patience:
            rate, stagnant = max(rate * factor, min_rate), 0
        rates.append(rate)
    return np.array(rates)


@wrong("the order is wrong")
def lowers_first(losses, *settings):
    class Wrong(Box):
        def step(self, loss):
            self.progress(loss)
            self.count_spikes(loss)
            self.lower()
            self.set_back(loss)

    return Wrong.run(losses, *settings)


@wrong("the rate never falls below min_rate")
def without_a_floor(losses, *settings):
    class Wrong(Box):
        def lower(self):
            if self.stagnant > self.patience:
                self.rate, self.stagnant = self.rate * self.factor, 0

    return Wrong.run(losses, *settings)


@wrong("you took the smaller of the two")
def floor_as_a_ceiling(losses, *settings):
    class Wrong(Box):
        def lower(self):
            if self.stagnant > self.patience:
                self.rate, self.stagnant = min(self.rate * self.factor, self.min_rate), 0

    return Wrong.run(losses, *settings)


@wrong("entry t is the rate after loss t")
def rate_before_the_loss(losses, *settings):
    return [settings[0], *Box.run(losses, *settings)[:-1]]


@wrong("it gives the shape []")
def last_rate_only(losses, *settings):
    return Box.run(losses, *settings)[-1]


@right
def as_a_generator(losses, first_rate, factor, min_rate, patience, threshold, reset_threshold):
    def rates():
        rate, best, stagnant, spikes = first_rate, float("inf"), 0, 0
        for loss in losses:
            stagnant = 0 if loss < best * (1 - threshold) else stagnant + 1
            best = loss if stagnant == 0 else best
            spikes = spikes + 1 if loss > best + reset_threshold else 0
            if spikes > patience:
                rate, best, spikes = first_rate, loss, 0
            if stagnant > patience:
                rate, stagnant = max(rate * factor, min_rate), 0
            yield rate

    return list(rates())


@right
def by_recursion(losses, first_rate, factor, min_rate, patience, threshold, reset_threshold):
    def after(losses, rate, best, stagnant, spikes):
        if len(losses) == 0:
            return []
        loss = losses[0]
        best, stagnant = (loss, 0) if loss < best * (1 - threshold) else (best, stagnant + 1)
        spikes = (spikes + 1) if loss > best + reset_threshold else 0
        if spikes > patience:
            rate, best, spikes = first_rate, loss, 0
        if stagnant > patience:
            rate, stagnant = max(rate * factor, min_rate), 0
        return [rate, *after(losses[1:], rate, best, stagnant, spikes)]

    return after(list(losses), first_rate, np.inf, 0, 0)


@wrong("the value differs")
def constants_of_the_example(losses, first_rate, factor, min_rate, patience, threshold, reset_threshold):
    return as_a_fold(losses, 1.0, 0.5, 0.2, 2, 0.105, 1.005)


@wrong("the value differs")
def patience_of_the_example(losses, first_rate, factor, min_rate, patience, threshold, reset_threshold):
    return as_a_fold(losses, first_rate, factor, min_rate, 2, threshold, reset_threshold)

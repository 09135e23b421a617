"""A check of a rule that has no single right answer: it plays streams of drifting samples, and must beat FIFO."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from tacl_lib.teaching.checks.attempt import attempt
from tacl_lib.teaching.checks.check import Check, CheckFailed, generator
from tacl_lib.teaching.checks.compare import as_numbers, shown

#: of its choices, so many must be those of a known mistake for its sentence to be said
ALIKE = 0.9
#: rows and features of the clusters that every rule is tried on first: not all clusters are alike
SHAPES = ((3, 2), (4, 1), (6, 5), (12, 2), (9, 3))


class Stream(NamedTuple):
    """Samples in order of arrival, and others of the same tasks that the memory should be able to stand for."""

    samples: np.ndarray  #: [arrivals, d]
    held_out: np.ndarray  #: [tasks, n, d]


class Turn(NamedTuple):
    """What a rule was given, and the row that it chose."""

    members: np.ndarray
    came: np.ndarray
    chosen: int


@dataclass
class Tally:
    """Played streams: the turns, and the error for each task, summed over streams."""

    turns: list[Turn] = field(default_factory=list)
    errors: np.ndarray | float = 0.0

    @property
    def error(self) -> float:
        return float(np.mean(self.errors))


def oldest_leaves(members, came) -> int:
    """FIFO, the paper's rule."""
    return 0


def play(streams: list[Stream], choose: Callable, clusters: int, size: int) -> Tally:
    """Algorithm 3 on each stream; ``choose(members, came)`` says who leaves. Then how far held-out samples are from
    the memory."""
    tally = Tally()
    for stream in streams:
        opening, others = stream.samples[:clusters], stream.samples[clusters:]
        members, came = [[z] for z in opening], [[number] for number in range(clusters)]
        means = opening.copy()
        for number, z in enumerate(others, start=clusters):
            nearest = int(((means - z) ** 2).sum(axis=1).argmin())
            members[nearest].append(z)
            came[nearest].append(number)
            if len(members[nearest]) > size:
                given = np.array(members[nearest]), np.array(came[nearest])
                chosen = choose(*given)
                tally.turns.append(Turn(*given, chosen))
                del members[nearest][chosen], came[nearest][chosen]
            means[nearest] = sum(members[nearest]) / len(members[nearest])
        held = np.concatenate(members)
        distances = np.linalg.norm(stream.held_out[:, :, None] - held, axis=-1)  # [tasks, n, members]
        tally.errors += distances.min(axis=-1).mean(axis=1)
    return tally


def _row(chosen: object, rows: int) -> int:
    """What a rule chose, if it is the number of a row."""
    number = as_numbers(chosen)
    if chosen is None:
        raise _RefusedError("it returns nothing: does it end with a return statement?")
    if number is None or number.ndim or number != np.floor(number):
        raise _RefusedError(f"it must return the number of one row, not {shown(chosen)}")
    if not 0 <= number < rows:
        raise _RefusedError(
            f"it chose row {int(number)}, which is not there: the rows are numbered from 0 to {rows - 1}"
        )
    return int(number)


class _RefusedError(Exception):
    """A rule that cannot be played, in words."""


@dataclass(frozen=True)
class Contest(Check):
    """The check of a rule ``(members [P + 1, d], came [P + 1]) → row that leaves``.

    reference: a rule that wins. cases: from a generator of random numbers, streams.
    mistakes: rules that lose, with the sentence that says why.
    stream: makes one from a generator; ``degrees``, which a variant changes, say how far each task turns.
    """

    stream: Callable[..., Stream] | None = None
    clusters: int = 4
    size: int = 8
    better_by: float = 1 / 3  #: of FIFO's error
    patience: float = 60.0  #: seconds for all choices of a contest

    def __call__(self, answer: Callable, seed: int | None = None) -> None:
        """For students: fresh streams. Says by how much it won, or raises CheckFailed."""
        streams = list(self.cases(np.random.default_rng(seed)))
        gain = self._contest(answer, streams)
        print(f"✓ {self.name}: right, the error is {gain:.0%} below FIFO's on {len(streams)} fresh streams.")

    def variant(self, number: float) -> "Contest":
        if self.twist is None or number not in self.twist.numbers:
            raise ValueError(f"{self.name} has no variant with the number {number}")
        own = {"stream": partial(self.stream, degrees=number), "cases": partial(self.cases, degrees=number)}
        return replace(self, **own, number=number)

    def beats(self, answer: Callable, seeds: Iterable[int], blend: float = 0.0) -> None:
        """For test cells: the streams of these seeds. Raises CheckFailed."""
        self._contest(answer, [self.stream(generator(seed, self.salt), blend=blend) for seed in seeds])

    def chooses(self, answer: Callable, members: np.ndarray, came: np.ndarray) -> None:
        """For test cells: one call gives the number of a row, whatever row it is. Raises CheckFailed."""
        self._refuse_other_parameters(answer)
        self._called(lambda: self._chooser(answer)(np.asarray(members), np.asarray(came)))

    def _contest(self, answer: Callable, streams: list[Stream]) -> float:
        self._refuse_other_parameters(answer)
        rng = np.random.default_rng(0)
        for rows, features in SHAPES:
            self.chooses(answer, rng.normal(size=(rows, features)), np.arange(rows) ** 2)
        fifo = play(streams, oldest_leaves, self.clusters, self.size)
        mine = self._called(lambda: play(streams, self._chooser(answer), self.clusters, self.size))
        gain = 1 - mine.error / fifo.error
        if gain < self.better_by:
            raise CheckFailed(f"✗ {self.name}: {self._why(answer, mine)}.\n{self._how_much(mine, fifo, gain)}")
        return gain

    def _chooser(self, answer: Callable) -> Callable[[np.ndarray, np.ndarray], int]:
        """The rule, as it is asked: with copies, and for a limited time in all."""
        end = time.monotonic() + self.patience

        def choose(members: np.ndarray, came: np.ndarray) -> int:
            if time.monotonic() > end:
                raise _RefusedError(f"its choices took more than {self.patience:g} seconds: it is too slow")
            outcome = attempt(answer, {"members": members, "came": came}, self.seconds)
            if outcome.trouble:
                raise _RefusedError(outcome.trouble)
            return _row(outcome.value, len(members))

        return choose

    def _refuse_other_parameters(self, answer: Callable) -> None:
        try:
            super()._refuse_other_parameters(answer)
        except CheckFailed as failed:
            raise CheckFailed(f"{failed} Nobody tells the memory more, least of all the true task.") from None

    def _called(self, call: Callable) -> object:
        try:
            return call()
        except _RefusedError as refused:
            trouble = str(refused)
            raise CheckFailed(f"✗ {self.name}: {trouble}{'' if trouble[-1] in '.?!' else '.'}") from None

    def _why(self, answer: Callable, mine: Tally) -> str:
        turns = mine.turns[::7]  # some of thousands, from all streams
        choose = self._chooser(answer)
        if any(choose(t.members, t.came) != t.chosen for t in turns[:50]):
            return "you choose by chance: a member is as likely to leave if nothing is like it as if it has a double"
        shares = [np.mean([m.answer(t.members, t.came) == t.chosen for t in turns]) for m in self.mistakes]
        if max(shares, default=0) >= ALIKE:
            return self.mistakes[int(np.argmax(shares))].sentence
        rows = {t.chosen for t in mine.turns}
        if len(rows) == 1:
            return f"you evict row {rows.pop()} each time, whatever stands there: look at the members"
        early, late = _halves(mine)
        if early > late:
            return "you lose the early tasks: little that is like them remains in the memory"
        return "you hold on to the early tasks: the late ones find too little room"

    def _how_much(self, mine: Tally, fifo: Tally, gain: float) -> str:
        compared = f"{abs(gain):.0%} {'less' if gain > 0 else 'more'} than FIFO's"
        early, late = (f"{a / b - 1:+.0%}" for a, b in zip(_halves(mine), _halves(fifo), strict=True))
        return (
            f"  Its error is {compared}; at least {self.better_by:.0%} less is asked for.\n"
            f"  On the early half of the tasks it is {early} against FIFO, on the late half {late}."
        )


def _halves(tally: Tally) -> tuple[float, float]:
    half = len(tally.errors) // 2
    return float(np.mean(tally.errors[:half])), float(np.mean(tally.errors[half:]))

"""An exercise: a function that a student writes, how it is tried, and the mistakes that are known by name."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, wraps

import numpy as np
import torch

from tacl_lib.teaching.checks.attempt import Refused, attempt
from tacl_lib.teaching.checks.check import Check, CheckFailed, Mistake


@dataclass(frozen=True)
class Exercise:
    """Called with a student's function, answers with the function that the lesson goes on with.

    It is tried on cases that are always the same, among which each known mistake gives itself away (a test holds them
    to that), and on fresh ones.

    solution: the function of `tacl_lib.plain` that is asked for. Its signature and docstring are the student's stub.
    cases: from a random generator, the arguments of some calls, small ones first.
    mistakes: sentences, and functions that make the mistake; their parameters are those of the solution.
    probe: for a function that changes what it is given: ``probe(function, *case)`` builds that, calls the function and
        returns what can be compared. Without it, a case is what the function is called with.
    """

    solution: Callable
    cases: Callable[[np.random.Generator], Iterable[tuple]]
    mistakes: tuple[Mistake, ...]
    probe: Callable | None = None

    @property
    def name(self) -> str:
        return self.solution.__name__

    def __call__(self, answer: Callable, skip: bool = False, seed: int | None = None) -> Callable:
        """The answer, if it is right; the solution, if the answer is to be skipped or is not written yet.

        seed: of the cases; without one they are fresh.
        """
        if skip:
            print(f"→ {self.name}: skipped; the lesson goes on with the solution.")
            return self.solution
        if not callable(answer):
            raise CheckFailed(f"✗ {self.name}: give the function itself, check({self.name}).")
        self._refuse_other_parameters(answer)
        if self._is_stub(answer):
            print(f"→ {self.name} is not written yet; until it is, the lesson goes on with the solution.")
            return self.solution
        self._check(self._probed(answer), seed)
        return answer

    @cached_property
    def _check(self) -> Check:
        mistakes = tuple(mistake._replace(answer=self._probed(mistake.answer)) for mistake in self.mistakes)
        return Check(self._probed(self.solution), lambda rng: [*self.fixed, *self.cases(rng)], mistakes)

    @cached_property
    def fixed(self) -> list[tuple]:
        """The cases that are always asked, so that luck of the draw lets no mistake through."""
        return list(self.cases(np.random.default_rng(0)))

    def _probed(self, function: Callable) -> Callable:
        """Called with a case: the function, in what it is to be tried in, if the kind of its answer is right."""

        def typed(*arguments):
            value = function(*arguments)
            _refuse_other_kind(value, self.solution.__annotations__.get("return"))
            return value

        @wraps(self.solution)
        def tried(*case):
            return self.probe(typed, *case) if self.probe else typed(*case)

        parameters = list(inspect.signature(self.probe or self.solution).parameters.values())
        tried.__signature__ = inspect.Signature(parameters[1:] if self.probe else parameters)
        return tried

    def _refuse_other_parameters(self, answer: Callable) -> None:
        asked = list(inspect.signature(self.solution).parameters)
        try:
            inspect.signature(answer).bind(*asked)
        except TypeError:
            raise CheckFailed(
                f"✗ {self.name}: it is called as {self.name}({', '.join(asked)}); "
                f"yours takes {inspect.signature(answer)}. Keep the first line of the stub."
            ) from None

    def _is_stub(self, answer: Callable) -> bool:
        names = inspect.signature(self._probed(self.solution)).parameters
        arguments = dict(zip(names, self.fixed[0], strict=False))
        return attempt(self._probed(answer), arguments, seconds=3.0).kind == "stub"


def _refuse_other_kind(value: object, asked: object) -> None:
    """What has the right numbers, but which the lesson could not go on with."""
    if asked is torch.Tensor and isinstance(value, list | tuple | float | np.ndarray | np.floating):
        raise Refused(f"return a tensor, not a {type(value).__name__}: what follows goes on calculating with it")
    if asked is np.ndarray and isinstance(value, list | tuple):
        raise Refused(f"return a NumPy array, np.array(…), not a {type(value).__name__}")

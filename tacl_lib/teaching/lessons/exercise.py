"""An exercise: a function that a student writes, how it is tried, and the mistakes that are known by name."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, wraps

import numpy as np

from tacl_lib.teaching.checks.attempt import attempt
from tacl_lib.teaching.checks.check import Check, CheckFailed, Mistake


@dataclass(frozen=True)
class Exercise:
    """Called with a student's function, answers with the function that the lesson goes on with.

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
        mistakes = tuple(Mistake(sentence, self._probed(wrong)) for sentence, wrong in self.mistakes)
        return Check(self._probed(self.solution), self.cases, mistakes)

    def _probed(self, function: Callable) -> Callable:
        if self.probe is None:
            return function

        @wraps(self.solution)
        def tried(*case):
            return self.probe(function, *case)

        _, *parameters = inspect.signature(self.probe).parameters.values()
        tried.__signature__ = inspect.Signature(parameters)
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
        case = next(iter(self.cases(np.random.default_rng(0))))
        names = inspect.signature(self._probed(self.solution)).parameters
        arguments = dict(zip(names, case, strict=False))
        return attempt(self._probed(answer), arguments, seconds=3.0).kind == "stub"

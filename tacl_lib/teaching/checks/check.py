"""A check compares a student's function with a reference on fresh cases, and says in words what is wrong."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tacl_lib.teaching.checks.attempt import Outcome, attempt
from tacl_lib.teaching.checks.compare import as_numbers, same, shown, shown_apart
from tacl_lib.teaching.checks.twist import Twist


class CheckFailed(AssertionError):
    """The answer is wrong; the message says how."""

    def _render_traceback_(self) -> list[str]:
        """Jupyter asks for this: a student needs the sentence, not the way through the checks."""
        return [str(self)]


class Mistake(NamedTuple):
    """A typical mistake: a sentence that names it, and a function that makes it.

    stops: where the function stops with an exception, an answer that stops with any other makes the same mistake.
    """

    sentence: str
    answer: Callable
    stops: bool = False


@dataclass(frozen=True, eq=False)
class Case:
    """Arguments of one call, and what it must give."""

    arguments: dict[str, object]
    expected: object
    _mistaken: dict[Mistake, Outcome] = field(default_factory=dict, repr=False)

    def only(self, entries: Iterable[str]) -> "Case":
        """The same case, of which only some entries of the answer are looked at."""
        return Case(self.arguments, {key: self.expected[key] for key in entries}, self._mistaken)

    def mistaken(self, mistake: Mistake, seconds: float) -> Outcome:
        """What the mistake gives here; worked out once."""
        if mistake not in self._mistaken:
            self._mistaken[mistake] = attempt(mistake.answer, self.arguments, seconds)
        return self._mistaken[mistake]


@dataclass(frozen=True)
class Check:
    """The check of one exercise; call it with the student's function.

    reference: the right answer, written in another way than the solution. Its name and its parameters are
        those that the exercise asks for.
    cases: from a generator of random numbers, the arguments of about 40 calls, small ones first.
    mistakes: an answer that equals one of these wherever it is wrong gets its sentence. If answers are dicts,
        each entry is compared on its own, so that two mistakes in two entries are both named.
    twist: how a student's own number changes the exercise, where there are variants.
    """

    reference: Callable
    cases: Callable[[np.random.Generator], Iterable[tuple]]
    mistakes: tuple[Mistake, ...]
    tolerance: float = 1e-6
    seconds: float = 3.0  #: for one call
    twist: Twist | None = None
    number: float | None = None  #: of a variant
    salt: int = 0  #: with another one, the same seed draws other cases

    @property
    def name(self) -> str:
        return self.reference.__name__

    def __call__(self, answer: Callable, seed: int | None = None) -> None:
        """For students: compare on fresh random cases. Says that it is right, or raises CheckFailed."""
        cases = self._fresh(seed)
        self._compare(answer, cases)
        print(f"✓ {self.name}: right in {len(cases)} cases.")

    def variant(self, number: float) -> "Check":
        """The check of the same exercise with a student's own number."""
        return _variant(self, number)

    def salted(self, salt: int) -> "Check":
        """For hidden tests of a variant: other cases for each student."""
        return replace(self, salt=salt)

    def expect(self, answer: Callable, *arguments: object, gives: object) -> None:
        """For test cells: one call, and what it must give, stated by hand. Raises CheckFailed.

        Of an answer that is a dict, only the entries in ``gives`` are looked at. Of a variant the same corner is
        asked, and the reference says what it must give.
        """
        if self.number is not None:
            arguments = self.twist.outer(self.number, *arguments)
            right = self.reference(*arguments)
            gives = {key: right[key] for key in gives} if isinstance(gives, dict) else right
        self._compare(answer, [self._case(arguments, gives)])

    def agrees(
        self, answer: Callable, seed: int, where: Callable[..., bool] | None = None, entries: Iterable[str] = ()
    ) -> None:
        """For hidden tests: the cases of a seed that students do not see. Raises CheckFailed.

        where: of the plain exercise's arguments, whether to ask this case. entries: of a dict, those to look at;
        none for all.
        """
        cases = [case for case in self._fresh(seed) if where is None or where(*self._plain(case))]
        if not cases:
            raise ValueError(f"no case of seed {seed} is asked")
        if entries:
            cases = [case.only(entries) for case in cases]
        self._compare(answer, cases)

    def _plain(self, case: Case) -> tuple:
        given = tuple(case.arguments.values())
        return given if self.number is None else self.twist.inner(self.number, *given)

    def _fresh(self, seed: int | None) -> list[Case]:
        return _kept(self, seed) if seed is not None else self._drawn(None)

    def _drawn(self, seed: int | None) -> list[Case]:
        arguments = list(self.cases(generator(seed, self.salt)))
        return [self._case(given, self.reference(*given)) for given in arguments]

    def _case(self, arguments: tuple, expected: object) -> Case:
        return Case(inspect.signature(self.reference).bind(*arguments).arguments, expected)

    def _compare(self, answer: Callable, cases: list[Case]) -> None:
        self._refuse_other_parameters(answer)
        for case in cases:
            outcome = self._asked_twice(answer, case)
            if outcome.trouble or not self._right(outcome.value, case.expected):
                raise CheckFailed(self._explanation(answer, case, outcome, cases))

    def _asked_twice(self, answer: Callable, case: Case) -> Outcome:
        """The outcome of a call, which must be the same if it is repeated."""
        outcome = attempt(answer, case.arguments, self.seconds)
        if outcome.trouble:
            return outcome
        again = attempt(answer, case.arguments, self.seconds)
        if again.trouble is None and same(outcome.value, again.value, self.tolerance):
            return outcome
        return Outcome(
            outcome.value,
            "asked twice with the same input, it gives two answers: does it draw at random, or keep something from the "
            "call before?",
            "fickle",
        )

    def _right(self, value: object, expected: object) -> bool:
        if isinstance(value, dict) and isinstance(expected, dict):
            value = {key: value[key] for key in expected if key in value}
        return same(value, expected, self.tolerance)

    def _refuse_other_parameters(self, answer: Callable) -> None:
        names = list(inspect.signature(self.reference).parameters)
        asked = f"{self.name}({', '.join(names)})"
        if not callable(answer):
            raise CheckFailed(f"✗ {self.name}: give the function itself, {asked}, not {shown(answer)}.")
        try:
            inspect.signature(answer).bind(*names)
        except TypeError:
            raise CheckFailed(
                f"✗ {self.name}: it must take {len(names)} arguments, {asked}; "
                f"yours is {self.name}{inspect.signature(answer)}."
            ) from None

    def _explanation(self, answer: Callable, case: Case, outcome: Outcome, cases: list[Case]) -> str:
        if outcome.kind in ("stub", "loop", "changed", "fickle", "refused"):
            said = [outcome.trouble]
        else:
            said = self._named_mistakes(answer, cases) or [self._unnamed(case, outcome)]
        lines = [f"✗ {self.name}: {sentence}{'' if sentence[-1] in '.?!' else '.'}" for sentence in said]
        if outcome.kind != "stub":
            call = ", ".join(f"{name}={shown(value)}" for name, value in case.arguments.items())
            lines.append(f"  For example, {self.name}({call})")
            expected, given = shown(case.expected), None
            if outcome.trouble is None:
                expected, given = self._shown_apart(case.expected, outcome.value)
            lines.append(f"  should give {expected}")
            if given:
                lines.append(f"  yours gives {given}")
        return "\n".join(lines)

    def _shown_apart(self, expected: object, value: object) -> tuple[str, str]:
        """Of two dicts, the entries that are right are shown as they are expected: they differ in rounding only."""
        if isinstance(expected, dict) and isinstance(value, dict):
            value = {
                key: expected[key] if key in expected and same(entry, expected[key], self.tolerance) else entry
                for key, entry in value.items()
            }
        return shown_apart(expected, value)

    def _named_mistakes(self, answer: Callable, cases: list[Case]) -> list[str]:
        """The sentences of the mistakes that the answer makes, if each of its wrong parts is one of them."""
        parts = _parts(cases[0].expected)
        if len(cases) < 10:  # these few could be explained by several mistakes: fresh ones tell them apart
            cases = [*cases, *self._fresh(seed=0)]
        got = [attempt(answer, case.arguments, self.seconds) for case in cases]
        sentences = []
        for part in parts:
            right = [self._alike(mine, Outcome(case.expected), part) for mine, case in zip(got, cases, strict=True)]
            if all(right):
                continue
            wrong, others = _apart(zip(cases, got, strict=True), right)
            # A mistake explains the answer if it gives the same wherever the answer is wrong. Of several, the one
            # that agrees most often; elsewhere the student may have minded a corner that the mistake does not.
            makes = [m for m in self.mistakes if all(self._made(m, *pair, part) for pair in wrong)]
            if not makes:
                return []
            agreements = [sum(self._made(mistake, *pair, part) for pair in others) for mistake in makes]
            sentences.append(makes[int(np.argmax(agreements))].sentence)
        return list(dict.fromkeys(sentences))

    def _made(self, mistake: Mistake, case: Case, got: Outcome, part: str | None) -> bool:
        """Whether the mistake gives here what the answer gave."""
        made = case.mistaken(mistake, self.seconds)
        if mistake.stops and made.trouble and got.trouble:
            return True
        return self._alike(got, made, part)

    def _alike(self, left: Outcome, right: Outcome, part: str | None) -> bool:
        a, b = _part(left, part), _part(right, part)
        return a.kind == b.kind and same(a.value, b.value, self.tolerance)

    def _unnamed(self, case: Case, outcome: Outcome) -> str:
        """The best that can be said of a mistake that nobody foresaw."""
        value, expected = outcome.value, case.expected
        if outcome.trouble:
            return outcome.trouble
        if value is None:
            return "it returns nothing: does it end with a return statement?"
        if isinstance(expected, dict):
            return _about_entries(value, expected, self.tolerance)
        return _about_numbers(value, expected)


def generator(seed: int | None, salt: int = 0) -> np.random.Generator:
    """Of random numbers, for the cases of a seed."""
    return np.random.default_rng([seed, salt] if salt and seed is not None else seed)


@lru_cache(maxsize=64)
def _variant(check: Check, number: float) -> Check:
    """All that a check knows, with a number: its cases, its reference and its mistakes. Two more are known by name."""
    twist = check.twist
    if twist is None or number not in twist.numbers:
        raise ValueError(f"{check.name} has no variant with the number {number}")
    forgotten = Mistake(
        f"this is right without your own number, {number:g}: see 'Your number' in the text", check.reference
    )
    others = [
        Mistake(f"this is right for the number {other:g}; yours is {number:g}", twist.of(check.reference, other))
        for other in twist.numbers
        if other != number
    ]
    return replace(
        check,
        reference=twist.of(check.reference, number),
        cases=lambda rng: [twist.outer(number, *given) for given in check.cases(rng)],
        mistakes=(forgotten, *others, *(m._replace(answer=twist.of(m.answer, number)) for m in check.mistakes)),
        number=number,
    )


@lru_cache(maxsize=64)
def _kept(check: Check, seed: int) -> list[Case]:
    """The cases of a seed, and what mistakes gave in them: marking asks for the same ones again and again."""
    return check._drawn(seed)


def _apart(pairs: Iterable[tuple], right: list[bool]) -> tuple[list[tuple], list[tuple]]:
    """Those pairs that are wrong, and the others."""
    pairs = list(pairs)
    return [p for p, r in zip(pairs, right, strict=True) if not r], [p for p, r in zip(pairs, right, strict=True) if r]


def _parts(expected: object) -> list[str | None]:
    return list(expected) if isinstance(expected, dict) else [None]


def _part(outcome: Outcome, part: str | None) -> Outcome:
    if part is None or outcome.trouble:
        return outcome
    return Outcome(outcome.value.get(part) if isinstance(outcome.value, dict) else None)


def _about_entries(value: object, expected: dict, tolerance: float) -> str:
    if not isinstance(value, dict):
        return f"it must return a dict with the keys {', '.join(map(repr, expected))}, not a {type(value).__name__}"
    if not expected.keys() <= value.keys():
        return f"the keys must be {', '.join(map(repr, expected))}, yours are {', '.join(map(repr, value))}"
    wrong = [key for key in expected if not same(value[key], expected[key], tolerance)]
    about = [f"{key!r} is wrong ({_about_numbers(value[key], expected[key])})" for key in wrong]
    return "; ".join(about)


def _about_numbers(value: object, expected: object) -> str:
    got, wanted = as_numbers(value), as_numbers(expected)
    if wanted is not None and got is None:
        return f"it must give {'numbers' if wanted.ndim else 'a number'}, not {type(value).__name__}"
    if wanted is not None and got.shape != wanted.shape:
        return f"it gives the shape {list(got.shape)}, but {list(wanted.shape)} is asked for"
    if wanted is not None and np.isnan(got).any() and not np.isnan(wanted).any():
        return "it gives nan, which is not a number: is something divided by zero?"
    return "the value differs"

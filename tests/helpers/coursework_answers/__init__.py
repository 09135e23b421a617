"""Seeded answers to the coursework: a module for each exercise, with wrong answers and right ones.

``@wrong("words")`` marks an answer that must be rejected with a message that holds these words, ``@right`` one that
must pass. Answers are written as students write them, not as the mistakes in `tacl_lib.teaching.checks` are.
"""

import inspect
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

import numpy as np


def wrong(words: str) -> Callable:
    def mark(answer: Callable) -> Callable:
        answer.words = words
        return answer

    return mark


def right(answer: Callable) -> Callable:
    answer.words = None
    return answer


def answers_to(exercise: str) -> list[Callable]:
    """All answers to an exercise, in the order of the file, and the faults that any answer can have."""
    if find_spec(f"coursework_answers.{exercise}") is None:
        return []
    module = import_module(f"coursework_answers.{exercise}")
    answers = [value for value in vars(module).values() if hasattr(value, "words")]
    return answers + _with_general_faults(next(answer for answer in answers if answer.words is None))


def _with_general_faults(good: Callable) -> list[Callable]:
    """A right answer, spoilt in ways that have nothing to do with the exercise."""

    @wrong("✗")
    def gives_its_first_answer_for_ever(*given):
        if not kept:
            kept.append(good(*given))
        return kept[0]

    @wrong("✗")
    def adds_noise(*given):
        return _noisy(good(*given))

    @wrong("in place")
    def spoils_its_input(*given):
        answer = good(*given)
        array = next(_arrays(given))
        array += 1
        return answer

    kept: list = []
    faults = [gives_its_first_answer_for_ever, adds_noise]
    if "size_a" not in inspect.signature(good).parameters:  # there are only numbers, which cannot be spoilt
        faults.append(spoils_its_input)
    for fault in faults:
        fault.__signature__ = inspect.signature(good)
    return faults


def _noisy(value):
    """The value with a little chance in each number, or another whole number."""
    rng = np.random.default_rng()
    if isinstance(value, dict):
        return {key: _noisy(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple) and len({np.shape(entry) for entry in value}) > 1:
        return [_noisy(entry) for entry in value]
    value = np.asarray(value)
    if value.ndim == 0 and value.dtype.kind in "iu":
        return int(rng.integers(0, 3))
    return value + rng.normal(scale=1e-3, size=value.shape)


def _arrays(given):
    for value in given:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, list | tuple):
            yield from _arrays(value)
        elif isinstance(value, dict):
            yield from _arrays(value.values())

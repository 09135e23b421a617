"""Seeded answers to the coursework: a module for each exercise, with wrong answers and right ones.

``@wrong("words")`` marks an answer that must be rejected with a message that holds these words, ``@right`` one that
must pass. Answers are written as students write them, not as the mistakes in `tacl_lib.teaching.checks` are.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec


def wrong(words: str) -> Callable:
    def mark(answer: Callable) -> Callable:
        answer.words = words
        return answer

    return mark


def right(answer: Callable) -> Callable:
    answer.words = None
    return answer


def answers_to(exercise: str) -> list[Callable]:
    """All answers to an exercise, in the order of the file; none if there is no file yet."""
    if find_spec(f"coursework_answers.{exercise}") is None:
        return []
    module = import_module(f"coursework_answers.{exercise}")
    return [value for value in vars(module).values() if hasattr(value, "words")]

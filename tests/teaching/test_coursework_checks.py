"""The machinery of the checks: what it says of answers of every kind, and that its own mistakes are mistakes."""

import math
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

from tacl_lib.teaching.checks import CHECKS, CheckFailed
from tacl_lib.teaching.checks.check import Check, Mistake
from tacl_lib.teaching.checks.compare import same, shown, shown_apart


def double(x):
    return 2 * x


def _cases(rng):
    yield (np.zeros(2),)
    for size in range(1, 6):
        yield (rng.normal(size=size) + 3,)


check_double = Check(double, _cases, (Mistake("you added two; multiply by two", lambda x: x + 2),))
#: for answers that do not end; a right one may be late on a busy machine
impatient = replace(check_double, seconds=0.3)


def failure(check, answer, **options) -> str:
    with pytest.raises(CheckFailed) as failed:
        check(answer, **options)
    return str(failed.value)


def test_a_right_answer_is_told(capsys):
    check_double(lambda x: x + x)
    assert capsys.readouterr().out == "✓ double: right in 6 cases.\n"


def test_a_known_mistake_is_named_with_the_smallest_case():
    assert failure(check_double, lambda x: 2 + x).splitlines() == [
        "✗ double: you added two; multiply by two.",
        "  For example, double(x=[0, 0])",
        "  should give [0, 0]",
        "  yours gives [2, 2]",
    ]


def test_an_unknown_mistake_is_shown_by_the_smallest_case():
    said = failure(check_double, lambda x: x + 5)
    assert said.startswith("✗ double: the value differs.\n  For example, double(x=[0, 0])\n")


def test_a_mistake_is_named_if_it_explains_every_wrong_case():
    """The answer minds a corner that the mistake does not: zeros are right."""
    assert "you added two" in failure(check_double, lambda x: x + 2 if x.any() else x)


def test_a_mistake_is_not_named_if_it_explains_only_some():
    assert "you added two" not in failure(check_double, lambda x: x + 2 if len(x) < 4 else x + 3)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda x: None, "it returns nothing: does it end with a return statement?\n"),
        (lambda x: 1 / 0, "it stopped with ZeroDivisionError: division by zero."),
        (lambda x: sys.exit(), "it stopped with SystemExit: no message."),
        (lambda x: x[:1], "it gives the shape [1], but [2] is asked for."),
        (lambda x: x / 0, "it gives nan, which is not a number"),
        (lambda x: "two", "it must give numbers, not str."),
        (lambda x: x.__imul__(2) if x.any() else x, "it changes its input `x` in place: work on a copy of it."),
        (lambda: 3, "it must take 1 arguments, double(x); yours is double()."),
        (lambda x, y: 3, "it must take 1 arguments, double(x); yours is double(x, y)."),
        (np.zeros(2), "give the function itself, double(x), not [0, 0]."),
    ],
)
def test_answers_of_the_wrong_kind(answer, words):
    assert words in failure(check_double, answer)


def test_an_answer_that_does_not_end_is_stopped():
    assert "it did not end within 0.3 seconds" in failure(impatient, lambda x: [n for n in iter(int, 1)])


def test_a_loop_that_catches_everything_is_stopped():
    def stubborn(x):
        while True:
            try:
                while True:
                    pass
            except Exception:
                continue

    assert "it did not end within" in failure(impatient, stubborn)


def test_a_stub_is_told_in_one_line():
    def double(x):
        raise NotImplementedError("write it")

    assert failure(check_double, double) == (
        "✗ double: it is not written yet: put your code in place of the line that raises."
    )


def test_a_check_in_a_thread_works_without_a_time_limit():
    said = []
    thread = threading.Thread(target=lambda: said.append(failure(check_double, lambda x: x + 2)))
    thread.start()
    thread.join()
    assert "you added two" in said[0]


def test_input_is_the_same_for_every_call():
    """An answer that spoils its input is told so, and neither reference nor mistakes see the damage."""
    seen = []

    def spoiling(x):
        seen.append(x.copy())
        x[:] = 7
        return 2 * seen[-1]

    assert "in place" in failure(check_double, spoiling)
    assert seen[0].tolist() == [0, 0]


def test_an_answer_that_draws_or_remembers_is_told():
    calls = []
    for answer in (lambda x: x * 2 + np.random.default_rng().normal(), lambda x: calls.append(x) or 2 * x * len(calls)):
        assert "asked twice with the same input, it gives two answers" in failure(check_double, answer)


def test_numbers_that_differ_are_never_shown_alike():
    said = failure(check_double, lambda x: 2 * x + 3e-6)
    assert "  should give [0, 0]\n  yours gives [3e-06, 3e-06]" in said
    with pytest.raises(CheckFailed) as failed:
        check_double.expect(lambda x: 2 * x + 1e-5, np.array([1.0]), gives=[2.0])
    assert str(failed.value).endswith("  should give [2]\n  yours gives [2.00001]")
    with pytest.raises(CheckFailed) as failed:
        check_double.expect(lambda x: 2 * x + (np.arange(300) == 150), np.zeros(300), gives=np.zeros(300))
    assert str(failed.value).endswith("  should give 0 at [150]\n  yours gives 1 at [150]")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (0.1, 0.1 + 1e-12),
        (2, "2"),
        ({"a": [1.0, 2.0]}, {"a": [1.0, 2.0 + 1e-15]}),
        ([np.zeros(100), np.zeros(100)], [np.zeros(100), np.arange(100) == 50]),
    ],
)
def test_shown_apart_tells_any_two_apart(left, right):
    assert len(set(shown_apart(left, right))) == 2


def test_agrees_asks_the_cases_of_a_seed_that_are_wanted():
    seen = []
    check_double.agrees(lambda x: seen.append(len(x)) or 2 * x, 7, where=lambda x: len(x) == 4)
    assert set(seen) == {4}
    with pytest.raises(CheckFailed, match="you added two"):
        check_double.agrees(lambda x: x + 2, 7)
    with pytest.raises(ValueError, match="no case of seed 7"):
        check_double.agrees(lambda x: x, 7, where=lambda x: False)


def test_the_time_limit_does_not_count_imports(tmp_path, monkeypatch):
    """An import that is cut short cannot be repeated, and was not the student's to hasten."""
    (tmp_path / "slow_to_import.py").write_text("import time\nfor _ in range(12):\n    time.sleep(0.05)\n")
    monkeypatch.syspath_prepend(tmp_path)

    def answer(x):
        import slow_to_import

        return 2 * x + 0 * len(slow_to_import.__name__)

    impatient.expect(answer, np.ones(1), gives=[2.0])


def test_expect_looks_only_at_the_entries_that_are_given():
    def pair(x):
        return {"twice": 2 * x, "thrice": 3 * x}

    check = Check(
        pair, lambda rng: [(n,) for n in range(1, 20)], (Mistake("mine", lambda x: {"twice": x, "thrice": 0}),)
    )
    check.expect(lambda x: {"twice": 2 * x, "thrice": 0}, 4, gives={"twice": 8})
    with pytest.raises(CheckFailed, match="mine"):
        check.expect(lambda x: {"twice": 2 * x, "thrice": 0}, 4, gives={"thrice": 12})
    assert "'thrice' is wrong (the value differs)" in failure(check, lambda x: {"twice": 2 * x, "thrice": x})
    assert "the keys must be 'twice', 'thrice', yours are 'twice'" in failure(check, lambda x: {"twice": 2 * x})
    assert "it must return a dict" in failure(check, lambda x: x)


def test_what_jupyter_shows_is_the_sentence_alone():
    code = (
        "from IPython.core.interactiveshell import InteractiveShell as Shell\n"
        "Shell.instance().run_cell('from tacl_lib.teaching.checks import check_project; check_project(lambda g, r: g)')"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.startswith("✗ project: you never projected")
    assert "Traceback" not in shown


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))])
@pytest.mark.parametrize("name", CHECKS)
def test_every_mistake_is_found_and_named_whatever_the_chance(name, seed):
    check = CHECKS[name]
    check(check.reference, seed=seed)
    for mistake in check.mistakes:
        assert mistake.sentence in failure(check, mistake.answer, seed=seed)


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1.0, True),
        (True, 1, True),
        ([1, 2], np.array([1.0, 2.0]), True),
        ((1, 2), [1, 2], True),
        (1.0, 1.0 + 1e-9, True),
        (1.0, 1.001, False),
        (math.inf, math.inf, True),
        (5.0, math.inf, False),
        (math.nan, math.nan, True),
        ([1], 1, False),
        (None, None, True),
        (None, 0, False),
        ("a", "a", True),
        ("1", 1, False),
        ([[1], [1, 2]], [[1], [1, 2]], True),
        ([[1], [1, 2]], [[1], [1, 3]], False),
        ({"a": [1]}, {"a": (1.0,)}, True),
        ({"a": 1}, {"b": 1}, False),
        ({"a": 1}, 1, False),
    ],
)
def test_same(left, right, equal):
    assert same(left, right, 1e-6) is equal


def test_shown_is_one_short_line():
    assert shown(np.array([[1.0, 0.33333333], [2, 3]])) == "[[1, 0.3333], [2, 3]]"
    assert shown(np.array([True, False])) == "[True, False]"
    assert shown({"a": [1, -1], "b": 2.5}) == "{'a': [1, -1], 'b': 2.5}"
    assert len(shown(np.arange(10_000))) <= 200
    assert shown(None) == "None"

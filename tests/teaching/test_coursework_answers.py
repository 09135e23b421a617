"""Every seeded wrong answer is rejected, by the check and by the tests, in words that name it; right ones pass.

The test cells are run in this process, without kernels: their sources, hidden tests included, with the answer in
place of the student's function. The table of all this goes to ``build/coursework_answers.md`` and into the summary.
"""

from itertools import islice
from pathlib import Path

import pytest
from coursework_answers import answers_to

from tacl_lib.teaching.checks import CHECKS, CheckFailed
from tacl_lib.teaching.checks.attempt import attempt
from tacl_lib.teaching.coursework.source import grade_id, is_answer, is_test, points_of, read_sets

ROOT = Path(__file__).parents[2]
SETS = read_sets(ROOT / "coursework" / "source")
EXERCISES = {exercise.name: (of, exercise) for of in SETS for exercise in of.exercises}
ANSWERS = [
    pytest.param(name, answer, id=f"{name}-{answer.__name__}") for name in EXERCISES for answer in answers_to(name)
]

#: wrong in so many of the cases that are drawn, an answer is wrong in some of any draw
MANY = 10


@pytest.fixture(scope="module")
def table(request):
    """Rows of the table, written when all answers were tried."""
    rows: list[str] = []
    yield rows
    lines = [
        "| exercise | answer | check | test cells | marks | what students read |",
        "|---|---|---|---|---|---|",
        *rows,
    ]
    path = ROOT / "build" / "coursework_answers.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    request.config.coursework_table = lines


def checked(name: str, answer) -> str | None:
    """What the student's check says of an answer; None if nothing."""
    try:
        CHECKS[name](answer, seed=1)
    except CheckFailed as failed:
        return str(failed)
    return None


def graded(name: str, answer) -> tuple[float, list[str]]:
    """The marks that the test cells give to an answer, and what they say."""
    of, exercise = EXERCISES[name]
    namespace: dict = {}
    plain = [c for c in of.notebook.cells if c.cell_type == "code" and not is_answer(c) and not is_test(c)]
    exec(plain[0].source, namespace)  # the imports at the top
    namespace[name] = answer
    marks, said = 0.0, []
    for cell in exercise.tests:
        try:
            exec(compile(cell.source, grade_id(cell), "exec"), namespace)
            marks += points_of(cell)
        except CheckFailed as failed:
            said.append(str(failed))
    return marks, said


@pytest.mark.parametrize(("name", "answer"), ANSWERS)
def test_answer(name, answer, table):
    message = checked(name, answer)
    marks, said = graded(name, answer)
    full = EXERCISES[name][1].marks
    first = (message or "").split("\n")[0].removeprefix(f"✗ {name}: ")
    table.append(
        f"| {name} | {answer.__name__} ({'wrong' if answer.words else 'right'}) | {'rejects' if message else 'passes'} "
        f"| {'reject' if said else 'pass'} | {marks:g} of {full} | {first} |"
    )
    if answer.words is None:
        assert message is None
        assert (marks, said) == (full, [])
    else:
        assert message is not None, "the check lets it pass"
        assert answer.words in message
        assert marks < full
        assert any(answer.words in sentence for sentence in said), said


@pytest.mark.parametrize("name", EXERCISES)
def test_there_are_enough_answers(name):
    answers = answers_to(name)
    assert sum(answer.words is not None for answer in answers) >= 8
    assert sum(answer.words is None for answer in answers) >= 4


@pytest.mark.parametrize("name", [name for name in EXERCISES if hasattr(CHECKS[name], "mistakes")])
def test_every_known_mistake_is_made_by_a_seeded_answer(name):
    """So that no sentence stands there that was never seen to come."""
    words = [answer.words for answer in answers_to(name) if answer.words]
    unseen = [m.sentence for m in CHECKS[name].mistakes if not any(part in m.sentence for part in words)]
    assert unseen == []


@pytest.mark.parametrize("name", [name for name in EXERCISES if not hasattr(CHECKS[name], "beats")])
def test_no_wrong_answer_is_found_by_luck(name):
    """Whatever is drawn, it fails: in so many cases that some are always among them, or at the same place each time."""
    lucky = []
    for answer in (answer for answer in answers_to(name) if answer.words is not None):
        places = list(islice(failures(name, answer, seed=1), MANY))
        if len(places) < MANY and not places_that_always_fail(name, answer, set(places)):
            lucky.append((answer.__name__, len(places)))
    assert lucky == []


def failures(name: str, answer, seed: int, places=None):
    """The numbers of the cases of a seed in which an answer fails; of some cases only, if they are named."""
    for number, case in enumerate(CHECKS[name]._fresh(seed)):
        if places is None or number in places:
            outcome = attempt(answer, case.arguments, 3.0)
            if outcome.trouble or not CHECKS[name]._right(outcome.value, case.expected):
                yield number


def places_that_always_fail(name: str, answer, places: set[int]) -> set[int]:
    for seed in range(2, 7):
        places = set(failures(name, answer, seed, places))
    return places

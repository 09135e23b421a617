"""The exercises of the lessons: wrong answers are rejected by name, right ones accepted, and nothing gets lost."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from lesson_answers import RIGHT
from lesson_mistakes import WRONG

from tacl_lib.errors import TaclError
from tacl_lib.teaching.checks import CheckFailed
from tacl_lib.teaching.lessons import check, progress
from tacl_lib.teaching.lessons.exercises import EXERCISES
from tacl_lib.teaching.lessons.exercises.ogd import directions
from tacl_lib.teaching.lessons.questions import QUESTIONS

every = pytest.mark.parametrize("name", EXERCISES)
SLIPS = [(name, answer, words) for name, answers in WRONG.items() for answer, words in answers.items()]
MISTAKES = [(name, mistake) for name, exercise in EXERCISES.items() for mistake in exercise.mistakes]


@pytest.fixture(autouse=True)
def own_progress(tmp_path, monkeypatch):
    monkeypatch.setenv("TACL_PROGRESS", str(tmp_path / "deep" / "progress.json"))


@pytest.mark.parametrize(("name", "mistake"), MISTAKES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(MISTAKES)])
def test_a_wrong_answer_is_rejected_and_its_mistake_is_named(name, mistake):
    with pytest.raises(CheckFailed) as caught:
        EXERCISES[name](mistake.answer, seed=1)
    assert mistake.sentence in str(caught.value)


@pytest.mark.parametrize(("name", "answer", "words"), SLIPS, ids=[answer.__name__ for _, answer, _ in SLIPS])
def test_a_wrong_answer_that_was_written_for_itself_is_named_too(name, answer, words):
    with pytest.raises(CheckFailed) as caught:
        EXERCISES[name](answer, seed=1)
    assert words in str(caught.value)


@every
def test_luck_of_the_draw_decides_nothing(name):
    """The cases that are always asked are enough: each wrong answer fails on them alone, and is named."""
    exercise = EXERCISES[name]
    always = replace(exercise._check, cases=lambda rng: exercise.fixed)
    wrong = [(mistake.answer, mistake.sentence) for mistake in exercise.mistakes] + list(WRONG[name].items())
    for answer, words in wrong:
        with pytest.raises(CheckFailed) as caught:
            always(exercise._probed(answer))
        assert words in str(caught.value)


def test_a_basis_whose_vectors_add_up_to_nothing_is_accepted():
    """As rounded gradients do now and then: which side a vector is on must not hang on its last digit."""
    S = [torch.tensor([0.3, -0.7, 0.5, -0.1], dtype=torch.float64)]
    given = directions(EXERCISES["add_to_basis"].solution, [], S)
    normalised = directions(lambda S, gradients: [u / u.norm() for u in gradients], [], S)
    np.testing.assert_allclose(torch.stack(given), torch.stack(normalised))


def test_there_are_four_such_answers_or_more_for_every_exercise():
    assert list(WRONG) == list(EXERCISES)
    assert all(len(answers) >= 4 for answers in WRONG.values())


@every
def test_every_exercise_knows_its_mistakes_and_they_differ(name):
    sentences = [mistake.sentence for mistake in EXERCISES[name].mistakes]
    assert len(set(sentences)) == len(sentences) >= 6


@every
def test_right_answers_are_accepted_and_are_what_the_lesson_goes_on_with(name):
    assert len(RIGHT[name]) == 2
    for answer in RIGHT[name]:
        for seed in range(3):
            assert EXERCISES[name](answer, seed=seed) is answer


@every
def test_a_stub_gives_the_solution_and_so_does_skipping(name, capsys):
    def stub(*arguments):
        raise NotImplementedError

    exercise = EXERCISES[name]
    assert exercise(stub) is exercise.solution
    assert "not written yet" in capsys.readouterr().out
    wrong = exercise.mistakes[0].answer
    assert exercise(wrong, skip=True) is exercise.solution
    assert "skipped" in capsys.readouterr().out


@every
def test_other_parameters_are_refused_with_a_sentence(name):
    with pytest.raises(CheckFailed, match=rf"{name}: it is called as {name}\("):
        EXERCISES[name](lambda: None)


def test_the_check_finds_an_exercise_by_its_name_and_remembers_what_was_written():
    def forgetting(accuracies):
        return RIGHT["forgetting"][0](accuracies)

    assert check(forgetting) is forgetting
    assert progress.done()["exercise"] == ["forgetting"]
    assert "☑ <code>forgetting</code>" in re.sub(r"<span[^>]*>", "", progress.page()._repr_html_())


def test_an_unknown_exercise_is_refused():
    def mine():
        pass

    with pytest.raises(TaclError, match="unknown exercise 'mine'"):
        check(mine)


def test_skipping_is_not_remembered():
    check(EXERCISES["project"].solution, skip=True)
    assert progress.done()["exercise"] == []


def test_progress_survives_a_damaged_file_and_a_place_that_cannot_be_written(tmp_path, monkeypatch):
    progress.note("question", "02_agem/1")
    progress.note("question", "02_agem/1")
    assert json.loads(progress.place().read_text()) == {"exercise": [], "question": ["02_agem/1"]}
    progress.place().write_text("{ not json")
    assert progress.done() == {"exercise": [], "question": []}
    (tmp_path / "file").touch()
    monkeypatch.setenv("TACL_PROGRESS", str(tmp_path / "file" / "progress.json"))
    progress.note("exercise", "add")  # says nothing, and nothing stops
    assert progress.done()["exercise"] == []
    assert "nothing yet" in repr(progress.page())


def test_forgetting_progress_starts_again():
    progress.note("exercise", "add")
    progress.forget()
    progress.forget()
    assert progress.done()["exercise"] == []


def test_the_progress_page_names_every_exercise():
    listed = [name for _, exercises in progress.LESSONS.values() for name in exercises]
    assert listed == [*EXERCISES, "capstone"]
    assert list(progress.LESSONS) == list(QUESTIONS)


@pytest.mark.parametrize("lesson", QUESTIONS)
def test_a_question_has_one_right_choice_and_a_sentence_for_each(lesson):
    assert 3 <= len(QUESTIONS[lesson]) <= 5
    for question in QUESTIONS[lesson]:
        assert question.ask.endswith("?")
        assert [choice.right for choice in question.choices].count(True) == 1
        assert len({choice.text for choice in question.choices}) == len(question.choices) >= 3
        assert all(choice.why.endswith((".", "?")) for choice in question.choices)

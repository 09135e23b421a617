"""The exercises of the lessons: wrong answers are rejected by name, right ones accepted, and nothing gets lost."""

import json
import re

import pytest
from lesson_answers import RIGHT
from lesson_mistakes import WRONG

from tacl_lib.errors import TaclError
from tacl_lib.teaching.checks import CheckFailed
from tacl_lib.teaching.lessons import check, progress
from tacl_lib.teaching.lessons.exercises import EXERCISES
from tacl_lib.teaching.lessons.questions import QUESTIONS

every = pytest.mark.parametrize("name", EXERCISES)
SLIPS = [(name, answer, words) for name, answers in WRONG.items() for answer, words in answers.items()]
MISTAKES = [(name, mistake) for name, exercise in EXERCISES.items() for mistake in exercise.mistakes]


@pytest.fixture(autouse=True)
def own_progress(tmp_path, monkeypatch):
    monkeypatch.setenv("TACL_PROGRESS", str(tmp_path / "deep" / "progress.json"))


@pytest.mark.parametrize(("name", "mistake"), MISTAKES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(MISTAKES)])
def test_a_wrong_answer_is_rejected_and_its_mistake_is_named(name, mistake):
    exercise = EXERCISES[name]
    for seed in range(3):
        with pytest.raises(CheckFailed) as caught:
            exercise(mistake.answer, seed=seed)
        assert mistake.sentence in str(caught.value)


@pytest.mark.parametrize(("name", "answer", "words"), SLIPS, ids=[answer.__name__ for _, answer, _ in SLIPS])
def test_a_wrong_answer_that_was_written_for_itself_is_named_too(name, answer, words):
    for seed in range(3):
        with pytest.raises(CheckFailed) as caught:
            EXERCISES[name](answer, seed=seed)
        assert words in str(caught.value)


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

"""Runs from specs and from the command line."""

import signal
from itertools import count

import pytest
from sentences import one_sentence
from small_training import contents, parts_in

from tacl_lib import __main__ as tacl
from tacl_lib.core.learners import LEARNERS
from tacl_lib.errors import TaclError
from tacl_lib.runs import RunSpec, run
from tacl_lib.runs.command import main
from tacl_lib.training.record import read_record

# --- experiments and command line -----------------------------------------------------------------------------

TINY = {"dataset": "digits", "epochs": 1, "hidden": (8,), "train_limit": 30, "test_limit": 20}


@pytest.mark.parametrize(
    ("learner", "experiment", "split"), [("ta_agem", "continuous", "class"), ("agem", "disjoint", "rotation")]
)
def test_an_experiment_on_digits(learner, experiment, split):
    spec = RunSpec(**TINY | {"learner": learner, "experiment": experiment, "split": split, "epochs": 2})
    records = run(spec, (0, 4), device="cpu", progress=False)
    tasks = 5 if split == "class" else 10
    assert [record.seed for record in records] == [0, 4]
    for record in records:
        assert record.accuracy.shape == (tasks * 2, tasks)
        assert record.info["spec"]["learner"] == learner
        assert record.info["data"]["source"]
    assert contents(records) == contents(run(spec, (0, 4), device="cpu", progress=False))


def test_an_experiment_resumes_from_its_checkpoint(tmp_path, monkeypatch):
    spec = RunSpec(**TINY | {"learner": "ta_agem"})
    expected = contents(run(spec, (0,), device="cpu", progress=False))
    original, numbers = LEARNERS["ta_agem"].step, count()

    def step(self, x, y):
        if next(numbers) == 7:
            signal.raise_signal(signal.SIGTERM)
        return original(self, x, y)

    monkeypatch.setattr(LEARNERS["ta_agem"], "step", step)
    with pytest.raises(SystemExit):
        run(spec, (0,), device="cpu", progress=False, checkpoint=tmp_path / "checkpoint")
    found = run(spec, (0,), device="cpu", progress=False, checkpoint=tmp_path / "checkpoint")
    assert contents(found) == expected
    assert next(numbers) == 15  # 5 tasks of 3 steps, none of them twice


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"learner": "sdg"}, ["sdg", "ta_agem", "sgd"]),
        ({"dataset": "mnits"}, ["mnits", "digits"]),
        ({"split": "colour"}, ["colour", "rotation"]),
        ({"initialisation": "zeros"}, ["zeros", "glorot"]),
        ({"learner_settings": {"cluster": 3}}, ["cluster", "clusters", "ta_agem"]),
    ],
    ids=str,
)
def test_unknown_names_in_a_spec(change, words):
    with pytest.raises(TaclError) as caught:
        run(RunSpec(**TINY | change), (0,), progress=False)
    message = one_sentence(caught)
    assert all(word in message for word in words)


COMMAND = ["--hidden", "(8,)", "--epochs", "1", "--train-limit", "30", "--test-limit", "20", "--seeds", "0", "2"]


def test_command_line_prints_the_summary_and_writes_records(tmp_path, capsys):
    main([*COMMAND, "--learner", "ta_agem", "--set", "clusters=3", "rate=0.05", "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    for name in ("average_accuracy", "first_task_accuracy", "forgetting", "2 runs"):
        assert name in printed
    files = [path for path in tmp_path.rglob("*.parquet") if not path.name.endswith(".events.parquet")]
    records = sorted((read_record(path) for path in files), key=lambda record: record.seed)
    assert [record.seed for record in records] == [0, 2]
    assert records[0].info["spec"]["learner_settings"]["clusters"] == 3
    assert records[0].events.geometry.clusters == 3
    spec = RunSpec(**TINY | {"learner": "ta_agem", "learner_settings": {"clusters": 3, "rate": 0.05}})
    assert contents(records) == contents(run(spec, (0, 2), progress=False))
    assert parts_in(tmp_path) == []


@pytest.mark.parametrize(
    "options",
    [
        ["--learner", "sdg"],
        ["--dataset", "mnits"],
        ["--split", "colour"],
        ["--epochs", "0"],
        ["--seeds", "1", "1"],
        ["--set", "clusters"],
        ["--set", "cluster=3"],
        ["--set", "rate=0"],
        ["--train-limit", "0"],
        ["--experiment", "continuous", "--learner", "agem", "--epochs", "2"],
        ["--epochs", "many"],
        ["--batch-size", "2.5"],
        ["--set", "rate=fast"],
        ["--hidden", "wide"],
    ],
    ids=" ".join,
)
def test_command_line_answers_a_bad_option_with_a_sentence(options):
    """`sys.exit` of a text prints it and ends with code 1."""
    with pytest.raises(SystemExit) as caught:
        tacl.main([*COMMAND, *options])
    message = caught.value.code
    assert isinstance(message, str)
    assert message.startswith("run: ")
    assert "\n" not in message


def test_command_line_takes_a_single_hidden_layer_as_a_number(capsys):
    """What a user types first."""
    main([*COMMAND, "--hidden", "8", "--learner", "sgd"])
    assert "average_accuracy" in capsys.readouterr().out

"""Runs that are made again: identical, or how far apart, why, and what it would change."""

import dataclasses

import numpy as np
import pytest
from small_runs import PLAIN, SEEDS, TINY

from tacl_lib.errors import TaclError
from tacl_lib.paper import verify as room
from tacl_lib.paper.verify import choose, differing, verify
from tacl_lib.runs import RunSpec, run
from tacl_lib.runs.store import Store

#: of the paper's dataset and settings, but made up
PAPER = RunSpec("mnist", "class", "disjoint", "sgd")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("results"))
    records = run(TINY, SEEDS, progress=False)
    store.write(TINY, records)
    store.write(PLAIN, run(PLAIN, SEEDS, progress=False))
    made_up = dataclasses.replace(records[0], info=records[0].info | {"spec": PAPER.full()})
    store.write(PAPER, [with_accuracy(made_up, 0.804)])
    return store


def with_accuracy(record, value):
    return dataclasses.replace(record, accuracy=np.where(np.isnan(record.accuracy), np.nan, value))


def test_a_run_that_is_made_again_here_is_identical(store):
    found = verify(store, TINY, 3, lambda spec, seed: run(spec, (seed,), progress=False)[0])
    assert (found.different, found.furthest, found.verdict_changes) == (0, 0.0, False)
    assert found.line().endswith(f"identical, all {found.of} accuracies")
    assert found.of == int((~np.isnan(store.read(TINY, 3).accuracy)).sum())


def test_a_small_difference_is_measured_and_changes_no_comparison(store):
    def again(spec, seed):
        record = store.read(spec, seed)
        accuracy = record.accuracy.copy()
        accuracy[-1, 0] += 0.002
        return dataclasses.replace(record, accuracy=accuracy, info=record.info | {"threads": 7})

    found = verify(store, PAPER, 0, again)
    epochs = len(store.read(PAPER, 0).accuracy)
    assert found.different == 1
    assert found.furthest == pytest.approx(0.002)
    assert found.changed["first_task_accuracy"] == pytest.approx(0.002 / epochs)
    assert not found.verdict_changes
    assert "threads 1 → 7" in found.line()
    assert "the comparison with the paper does not change" in found.line()


def test_a_large_difference_changes_the_comparison(store):
    """Ours is .804, which is the paper's average accuracy; .5 is not."""
    found = verify(store, PAPER, 0, lambda spec, seed: with_accuracy(store.read(spec, seed), 0.5))
    assert found.different == found.of
    assert found.verdict_changes
    assert "the comparison with the paper changes" in found.line()


def test_of_circumstances_only_those_that_matter_are_told():
    old = {"cpu": "A", "versions": {"torch": "2.4", "numpy": "2"}, "finished": "then"}
    new = {"cpu": "B", "versions": {"torch": "2.5", "numpy": "2"}, "finished": "now", "blas": "MKL"}
    assert differing(old, new) == ["cpu A → B", "blas not recorded → MKL", "torch 2.4 → 2.5"]


def test_runs_are_named_or_drawn(store):
    def named(*arguments, **more):
        return [(spec.name(), seed) for spec, seed in choose(store, *arguments, **more)]

    assert named(1, [TINY.name()]) == [(TINY.name(), 0), (TINY.name(), 3)]
    assert named(1, [f"{TINY.name()}-3"]) == [(TINY.name(), 3)]
    assert len(named(2, [], seed=1)) == 2
    assert named(2, [], seed=1) == named(2, [], seed=1)
    assert (PAPER.name(), 0) not in named(4, [])  # the short ones come first
    with pytest.raises(TaclError, match="there is no run 0123"):
        choose(store, 1, ["0123"])


def test_the_command_says_what_it_found(store, monkeypatch, capsys):
    monkeypatch.setattr(room, "REFERENCE", store.folder)
    room.main([f"{PLAIN.name()}-0"])
    assert capsys.readouterr().out.endswith("1 of 1 identical; 0 comparisons would change.\n")
    with pytest.raises(TaclError, match=r"^--count must be at least 1, not 0"):
        room.main(["--count", "0"])

"""The tool that kills, damages and counts: a little of each kind, and that it would see a loss."""

import random
import sys

import psutil
import pytest
import torch
import torture
from torture import bits, busy_machine, hit, single_runs

from tacl_lib.runs import cluster

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="signals and shells differ there"),
]


@pytest.fixture(autouse=True)
def usual_workers(monkeypatch):
    """A busy machine is made of more workers than there are cores; afterwards there are as many as before."""
    monkeypatch.setattr(cluster, "_cores", cluster._cores)


def test_a_little_torture_loses_nothing():
    """Few of each kind; `make torture` does hundreds."""
    rng = random.Random(0)
    rows = [*bits(4, rng), *single_runs(4, rng), *busy_machine(1, rng, jobs=12, workers=2)]
    assert sum(row[2] for row in rows) >= 2 * 4 + 4 + 12
    assert [row for row in rows if row[3]] == []


def test_torture_would_count_what_is_lost(monkeypatch):
    """Numbers that differ in the last bit, runs that are not stored, and a process that was not there to be hit."""
    rng = random.Random(0)
    monkeypatch.setattr(torture, "same", lambda one, other: False)
    assert sum(row[3] for row in single_runs(2, rng)) >= 1
    assert next(row[3] for row in bits(2, rng)) == 2
    monkeypatch.undo()
    monkeypatch.setattr(torture, "execute", lambda *_, **__: None)
    (row,) = busy_machine(1, rng, jobs=3, workers=1)
    assert row[2:] == (3, 3)
    gone = psutil.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert not hit(gone, "KILL", rng)


def test_torture_compares_with_runs_of_as_many_threads_as_a_worker_has(monkeypatch, capsys):
    """With two, the last bits differ, and all that was stored would look lost."""
    seen = []
    monkeypatch.setattr(torture, "bits", lambda *_: [("threads", "none", seen.append(torch.get_num_threads()) or 1, 0)])
    monkeypatch.setattr(sys, "argv", ["torture", *(f"--{part}=0" for part in ("single", "reproductions", "rounds"))])
    torch.set_num_threads(2)
    with pytest.raises(SystemExit) as ended:
        torture.main()
    assert (ended.value.code, seen) == (0, [1])
    assert "| threads | none | 1 | 0 |" in capsys.readouterr().out

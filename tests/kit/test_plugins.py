"""A user's own code, known to the command line, to workers, to kernels and to whoever installs its package."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tacl_lib import plugins
from tacl_lib.__main__ import main
from tacl_lib.errors import TaclError
from tacl_lib.training.record import read_record

OWN = '''
import numpy as np
from tacl_lib.core.learners import Step, register_learner
from tacl_lib.core.learners.ta_agem import TaAgem
from tacl_lib.core.memory import register_policy
from tacl_lib.data import Dataset, load, register_dataset
from tacl_lib.runs import RunSpec  # a plugin may import any room


@register_learner
class Replay(TaAgem):
    """Learns from the batch and from remembered samples alike."""

    name = "own_replay"

    def step(self, x, y):
        losses, g, g_old = self.network.loss_gradients(x, y, self.draw_reference())
        self.network.add(g + g_old, -self.rate)
        return Step(losses.sum(1), self.rate, stored=self.remember(x, y))


@register_policy("own_first_cluster")
def first_cluster(arrival):
    return arrival.into_cluster(arrival.pool * 0)


def mirrored():
    digits = load("digits")
    return Dataset("own_digits", digits.train_images[:, :, ::-1], digits.train_labels, digits.test_images[:, :, ::-1],
                   digits.test_labels)


register_dataset("own_digits", mirrored)
'''
CHOICE = ["--dataset", "own_digits", "--learner", "own_replay", "--set", "policy=own_first_cluster"]
SMALL = ["--hidden", "8,", "--epochs", "1", "--train-limit", "30", "--test-limit", "20", "--seeds", "0"]


@pytest.fixture
def plugin(tmp_path):
    path = tmp_path / "my_methods.py"
    path.write_text(OWN)
    return path


def python(*arguments, cwd, **environment):
    kept = {name: value for name, value in os.environ.items() if name != plugins.VARIABLE}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=kept | environment)


def test_a_run_with_a_learner_a_policy_and_a_dataset_of_a_plugin(plugin):
    """The file is named as it lies beside the user; its digest, and no path, is in the record."""
    command = ["-m", "tacl_lib", "run", *CHOICE, *SMALL, "--plugin", plugin.name, "--out", "out"]
    done = python(*command, cwd=plugin.parent)
    assert done.returncode == 0, done.stderr
    (path,) = plugin.parent.glob("out/*seed0.parquet")
    info = read_record(path).info
    assert info["spec"]["dataset"] == "own_digits"
    assert list(info["plugins"]) == ["my_methods.py"]
    assert str(plugin.parent) not in json.dumps(info)


def test_without_the_plugin_its_names_are_unknown(plugin):
    done = python("-m", "tacl_lib", "run", *CHOICE, *SMALL, cwd=plugin.parent)
    assert done.returncode == 1
    assert done.stderr.startswith("run: unknown learner 'own_replay'; choose one of: ")


def test_a_worker_is_told_by_its_job(plugin):
    """A worker of a cluster has an environment of its own: what it must import comes with the job."""
    code = (
        "from tacl_lib.runs import RunSpec\n"
        "from tacl_lib.runs.execution import run_job\n"
        "from tacl_lib.runs.grid import Job\n"
        "spec = RunSpec('own_digits', hidden=(8,), epochs=1, train_limit=30, test_limit=20)\n"
        "object.__setattr__(spec, 'learner', 'own_replay')  # as it comes out of a message, unchecked\n"
        f"run_job(Job(spec, (0,)), 'stored', own=({str(plugin)!r},))\n"
    )
    done = python("-c", code, cwd=plugin.parent)
    assert done.returncode == 0, done.stderr
    assert len(list(plugin.parent.glob("stored/*-0.parquet"))) == 1


def test_the_plugins_go_with_every_job(monkeypatch, plugin):
    from tacl_lib.runs import execution

    monkeypatch.setenv(plugins.VARIABLE, str(plugin))
    sent = []

    class Client:
        def submit(self, function, *arguments, **more):
            sent.append((function, more["own"]))
            raise KeyboardInterrupt

    from tacl_lib.runs import RunSpec
    from tacl_lib.runs.grid import Job

    job = Job(RunSpec.__new__(RunSpec), (0,))
    object.__setattr__(job.spec, "name", lambda: "a-run")
    with pytest.raises(KeyboardInterrupt):
        execution._one_round(Client(), [job], Path("."), None, 0)
    assert sent == [(execution.run_job, (str(plugin),))]


@pytest.mark.slow
def test_a_smoke_reproduction_with_a_plugin(plugin):
    """Command line, workers and kernels: the tables of the report have the plugin's learner and dataset."""
    command = (
        "-m tacl_lib --plugin my_methods.py reproduce --profile smoke --datasets own_digits --methods own_replay sgd"
    )
    done = python(*command.split(), "--seeds", "0", cwd=plugin.parent, TACL_HOME=str(plugin.parent))
    assert done.returncode == 0, done.stderr
    report = (plugin.parent / "build" / "smoke" / "report.html").read_text(encoding="utf-8")
    assert "own_replay" in report
    assert "own_digits" in report
    assert len(list(plugin.parent.glob("results/*-0.parquet"))) == 12  # two methods, three splits, two experiments


def test_an_installed_package_is_found_by_its_entry_point(plugin):
    """As pip would leave it: a module, and a .dist-info that names it. A broken one is left out with a warning."""
    for name, module, text in (("good", "my_methods", OWN), ("bad", "my_mistake", "import no_such_module\n")):
        (plugin.parent / f"{module}.py").write_text(text)
        about = plugin.parent / f"{name}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[tacl.plugins]\n{name} = {module}\n")
    code = (
        "from tacl_lib.core.learners import LEARNERS, settings_of\n"
        "from tacl_lib.core.memory import POLICIES\nfrom tacl_lib.data import available\n"
        "print(settings_of('own_replay')['policy'], 'own_first_cluster' in POLICIES, available()[-1])\n"
    )
    done = python("-c", code, cwd=plugin.parent, PYTHONPATH=str(plugin.parent))
    assert done.stdout.split() == ["clustering", "True", "own_digits"], done.stderr
    assert "the plugin my_mistake is skipped: ModuleNotFoundError" in done.stderr


@pytest.mark.parametrize(
    ("text", "name", "sentence"),
    [
        (None, "none.py", r"could not be read \(No such file or directory\); check its path\.$"),
        ("import no_such_module", "broken.py", "could not be loaded: ModuleNotFoundError: No module named"),
        ("raise SystemExit", "ends.py", None),
        ("1 +", "wrong.py", "could not be loaded: SyntaxError"),
        (None, "no.such_module", "the plugin no.such_module could not be loaded: ModuleNotFoundError"),
        (
            "from tacl_lib.core.learners import Sgd, register_learner\n"
            "@register_learner\nclass Mine(Sgd):\n    name = 'sgd'\n",
            "taken.py",
            "the learner 'sgd' is already registered; choose another name",
        ),
    ],
)
def test_a_plugin_that_cannot_be_loaded_is_named(tmp_path, monkeypatch, text, name, sentence):
    monkeypatch.delenv(plugins.VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / name).write_text(text)
    if sentence is None:  # a plugin that wants to end the program may
        with pytest.raises(SystemExit):
            plugins.add([name])
    else:
        with pytest.raises(TaclError, match=sentence):
            plugins.add([name])
    assert plugins.VARIABLE not in os.environ


@pytest.mark.parametrize("arguments", [["run", "--plugin"], ["--plugin=", "run"]])
def test_a_plugin_without_a_name(arguments):
    with pytest.raises(
        SystemExit, match=r"^tacl: --plugin takes a file or a module, e\.g\. --plugin my_methods\.py\.$"
    ):
        main(arguments)

"""How long jobs will take is measured, on the device at hand."""

import time

import pytest
import torch
from small_learners import OF_THE_KIT
from small_runs import PLAIN, SEEDS, TINY

from tacl_lib.core.learners import LEARNERS
from tacl_lib.runs import cluster, forecast
from tacl_lib.runs.cost import steps
from tacl_lib.runs.grid import Job, all_jobs
from tacl_lib.runs.profiles import PROFILES

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(forecast, "PATIENCE", 0.01)
    monkeypatch.setattr(forecast, "default_device", lambda: CPU)
    monkeypatch.setattr(cluster, "_cores", lambda: 4)


@pytest.mark.parametrize("name", OF_THE_KIT)
def test_a_step_of_every_learner_can_be_timed(name):
    job = Job(PROFILES["smoke"].spec("digits", "class", "disjoint", name), SEEDS)
    assert 0 < forecast.seconds_of_a_step(job, CPU) < 10


def test_what_a_step_takes_is_measured(monkeypatch):
    """A learner that works for 20 ms is expected to do so in every step of a run, whatever is true of SGD elsewhere."""
    step = LEARNERS["sgd"].step

    def slow(self, x, y):
        end = time.thread_time() + 0.02
        while time.thread_time() < end:
            pass
        return step(self, x, y)

    monkeypatch.setattr(LEARNERS["sgd"], "step", slow)
    (seconds,) = forecast.seconds_of([Job(PLAIN, SEEDS)], CPU, print).values()
    assert seconds >= 0.02 * steps(PLAIN)


def test_each_kind_is_timed_once_and_what_is_done_not_at_all(monkeypatch):
    timed = []
    monkeypatch.setattr(forecast, "seconds_of_a_step", lambda job, device: timed.append(job) or 36.0)
    jobs = all_jobs(PROFILES["paper"], ["mnist", "svhn"])
    states = dict.fromkeys(jobs, "missing") | {jobs[0]: "done", jobs[1]: "reference"}
    found = forecast.forecast(states)
    left = [job for job in jobs[2:]]
    assert found.hours == pytest.approx(sum(steps(job.spec) for job in left) / 100)
    assert found.again == pytest.approx(steps(jobs[1].spec) / 100)
    assert found.kinds == len(timed) == 7 * 2 * 2 + 5  # methods, inputs and classes; the study's five others
    assert found.workers == 4
    assert "left: about" in found.line()
    assert "side by side; repeating the reference runs (○) as well would take" in found.line()
    assert forecast.forecast(dict.fromkeys(jobs, "done")).line() == "left: nothing"


def test_a_dataset_that_is_not_here_is_not_fetched(monkeypatch, tmp_path):
    monkeypatch.setenv("TACL_CACHE", str(tmp_path))
    monkeypatch.setattr("tacl_lib.data.loading._fetch", None)  # a call would raise
    for name, shape in (("cifar10", (32, 32, 3)), ("mine", (28, 28, 1))):
        job = Job(PROFILES["paper"].spec(name, "rotation", "disjoint", "sgd"), (0,))
        assert forecast.seconds_of_a_step(job, CPU) > 0
        assert forecast.images_of(name).train_images.shape[1:] == shape


def test_a_job_of_the_study_is_another_kind():
    assert forecast.kind_of(Job(TINY, SEEDS)) != forecast.kind_of(Job(PLAIN, SEEDS))

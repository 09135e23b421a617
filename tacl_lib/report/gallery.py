"""Every figure of the paper by name, drawn within seconds from stored runs:

    tacl figure                                  lists the names
    tacl figure disjoint_mnist study_accuracy    draws two of them
    tacl figure all --profile paper

Figures go to ``figures/PROFILE`` as PNG and SVG, with an alternative text.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from tacl_lib import places
from tacl_lib.errors import TaclError, unknown_name
from tacl_lib.names import EXPERIMENTS, METHODS, POLICIES, SAMPLING_RATES, SPLITS, title
from tacl_lib.report.figures import (
    clustering_diagram,
    result_figure,
    save,
    strategy_diagram,
    study_figure,
    timeline_figure,
)
from tacl_lib.runs.grid import Job, experiment_jobs, study_dataset, study_jobs, study_records
from tacl_lib.runs.profiles import PROFILES, Profile, profile_named
from tacl_lib.runs.store import OWN, Store
from tacl_lib.runs.together import Together
from tacl_lib.training.record import Record

DIAGRAMS = ("method_strategy", "method_clustering")  #: which need no runs
IN_PAIRS = ("clusters_clustering", "clusters_random")  #: single panels, which the figures of a rate have side by side
_TITLES = {
    "method_strategy": "The strategy",
    "method_clustering": "Online clustering, step by step",
    "study_accuracy": "Clustering against random assignment",
    "clusters_clustering": "What the clusters hold",
    "clusters_random": "The same with random assignment",
}


class Gallery:
    """The figures of a profile, from a store. Only figures with runs are drawn; `waiting` names the others.

    datasets, methods, seeds: None takes those of the profile.
    """

    def __init__(
        self,
        profile: Profile,
        store: Store,
        *,
        datasets: Sequence[str] | None = None,
        methods: Sequence[str] | None = None,
        seeds: Sequence[int] | None = None,
    ):
        self.profile, self.store, self.seeds = profile, store, seeds
        self.datasets, self.methods = tuple(datasets or profile.datasets), tuple(methods or METHODS)
        self.reduced = f"REDUCED ({profile.reduction})" if profile.reduction else None
        self._figures: dict[str, tuple[list[Job], Callable[[], Figure]]] = {
            "method_strategy": ([], strategy_diagram),
            "method_clustering": ([], clustering_diagram),
        }
        for experiment in EXPERIMENTS:
            for dataset in self.datasets:
                jobs = experiment_jobs(profile, experiment, dataset, self.methods, seeds)
                self._figures[f"{experiment}_{dataset}"] = jobs, partial(self._results, experiment, dataset, jobs)
        study = study_jobs(profile, self.study_dataset, seeds)
        self._figures["study_accuracy"] = study, self._study
        for rate in SAMPLING_RATES:
            name = f"clusters_rate_{rate:g}".replace(".", "_")
            self._figures[name] = _of(study, [rate]), partial(self._contents, rate, POLICIES)
        for policy in POLICIES:  # the two single figures of the paper's main part
            jobs = [job for job in _of(study, [1.0]) if job.spec.learner_settings["policy"] == policy]
            self._figures[f"clusters_{policy}"] = jobs, partial(self._contents, 1.0, [policy])

    @property
    def names(self) -> list[str]:
        return list(self._figures)

    @property
    def waiting(self) -> list[str]:
        """The figures without runs."""
        return [name for name, (jobs, _) in self._figures.items() if jobs and not any(map(self._is_run, jobs))]

    @property
    def drawn(self) -> list[str]:
        """The figures with runs, and those that need none."""
        waiting = set(self.waiting)
        return [name for name in self._figures if name not in waiting]

    def own_jobs(self, name: str) -> list[Job]:
        """The jobs of a figure with the user's own runs, if the store tells these apart."""
        if not isinstance(self.store, Together):
            return []
        return [job for job in self._figures[name][0] if self.store.own_seeds(*job)]

    def own(self, name: str) -> str:
        """The same in words; empty if there are none."""
        specs = [job.spec for job in self.own_jobs(name)]
        return ", ".join(f"{spec.split} {title('method', spec.learner)}" for spec in specs)

    def draw(self, name: str) -> Figure:
        """One figure by name."""
        if name not in self._figures:
            raise unknown_name("figure", name, self._figures)
        if name in self.waiting:
            raise TaclError(f"there are no runs for the figure {name} (profile {self.profile.name}); run them first.")
        return self._figures[name][1]()

    def _is_run(self, job: Job) -> bool:
        return len(self.store.missing(*job)) < len(job.seeds)

    def _results(self, experiment: str, dataset: str, jobs: Sequence[Job]) -> Figure:
        runs: dict[str, dict[str, list[Record]]] = {split: {} for split in SPLITS}
        for job in jobs:
            runs[job.spec.split][job.spec.learner] = self.store.records(*job)
        splits = [split for split in SPLITS if any(runs[split].values())]
        return result_figure(runs, dataset=dataset, experiment=experiment, splits=splits, reduced=self.reduced)

    def title(self, name: str) -> str:
        """A figure's name in words."""
        experiment, _, dataset = name.partition("_")
        if experiment in EXPERIMENTS:
            return f"{title('dataset', dataset)}, {EXPERIMENTS[experiment]}"
        rate = name.removeprefix("clusters_rate_").replace("_", ".")
        return _TITLES.get(name, f"What the clusters hold, sampling rate {rate}")

    @property
    def study_dataset(self) -> str:
        return study_dataset(self.profile, self.datasets)

    @property
    def _study_title(self) -> str:
        return f"{title('dataset', self.study_dataset)} class split"

    def study_runs(self) -> dict[tuple[str, float], list[Record]]:
        """The runs of the clustering study by policy and sampling rate."""
        return study_records(self.store, self._figures["study_accuracy"][0])

    def _study(self) -> Figure:
        heading = f"TA-A-GEM with and without clustering, {self._study_title}"
        return study_figure(self.study_runs(), title=heading, reduced=self.reduced)

    def _contents(self, rate: float, policies: Iterable[str]) -> Figure:
        runs = self.study_runs()
        panels = {POLICIES[policy]: runs[policy, rate][0] for policy in policies if runs[policy, rate]}
        return timeline_figure(
            panels, title=f"Cluster contents, {self._study_title}, sampling rate {rate:g}", reduced=self.reduced
        )


def _of(study: Sequence[Job], rates: Sequence[float]) -> list[Job]:
    return [job for job in study if job.spec.learner_settings["sampling_rate"] in rates]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="tacl figure", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="figures to draw, or all; default: list the names")
    parser.add_argument("--profile", help=f"one of {', '.join(PROFILES)}; default: quick, or paper if you have no runs")
    parser.add_argument("--results", type=Path, help="the store; default: your runs and the reference runs")
    parser.add_argument("--out", type=Path, help="default: figures/PROFILE")
    options = parser.parse_args(arguments)
    store = Store(options.results) if options.results else Together()
    profile = profile_named(options.profile or ("quick" if Store(OWN) else "paper"))
    gallery = Gallery(profile, store)
    if not options.names:
        print("\n".join(gallery.names))
    if options.names == ["all"] and gallery.waiting:
        print(f"no runs yet for: {', '.join(gallery.waiting)}", file=sys.stderr)
    for name in gallery.drawn if options.names == ["all"] else options.names:
        folder = options.out or places.FIGURES / profile.name
        print(*save(gallery.draw(name), folder, name))

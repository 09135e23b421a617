"""Every figure of the paper by name, each made from stored runs alone, in seconds:

    tacl figure                                  lists the names
    tacl figure disjoint_mnist study_accuracy    makes two of them
    tacl figure all --profile paper

Figures go to ``figures/PROFILE`` as PNG and SVG, with an alternative text.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from tacl_lib import names
from tacl_lib.core.record import Record
from tacl_lib.errors import TaclError, unknown_name
from tacl_lib.paper import DATASETS
from tacl_lib.report.figures import (
    clustering_diagram,
    result_figure,
    save,
    strategy_diagram,
    study_figure,
    timeline_figure,
)
from tacl_lib.runs.grid import EXPERIMENTS, experiment_jobs, study_dataset, study_jobs
from tacl_lib.runs.grid import POLICIES as STUDIED
from tacl_lib.runs.profiles import METHODS, PROFILES, SAMPLING_RATES, SPLITS, Profile, profile_named
from tacl_lib.runs.store import ROOT, Store, default_store

POLICIES = {names.POLICIES[policy]: policy for policy in STUDIED}


class Gallery:
    """The figures of a profile, read from a store.

    datasets, methods, seeds: None takes those of the profile. missing: datasets that could not be had → why.
    """

    def __init__(
        self,
        profile: Profile,
        store: Store,
        *,
        datasets: Sequence[str] | None = None,
        methods: Sequence[str] | None = None,
        seeds: Sequence[int] | None = None,
        missing: Mapping[str, str] | None = None,
    ):
        self.profile, self.store, self.seeds = profile, store, seeds
        self.datasets, self.methods = tuple(datasets or profile.datasets), tuple(methods or METHODS)
        self.missing = dict(missing or {})
        self.reduced = f"REDUCED ({profile.reduction})" if profile.reduction else None
        self._figures: dict[str, Callable[[], Figure]] = {
            "method_strategy": strategy_diagram,
            "method_clustering": clustering_diagram,
        }
        for experiment in EXPERIMENTS:
            for dataset in dict.fromkeys([*self.datasets, *self.missing]):
                self._figures[f"{experiment}_{dataset}"] = partial(self._results, experiment, dataset)
        self._figures["study_accuracy"] = self._study
        for rate in SAMPLING_RATES:
            self._figures[f"clusters_rate_{rate:g}".replace(".", "_")] = partial(self._contents, rate, POLICIES)
        for title, policy in POLICIES.items():  # the two single figures of the paper's main part
            self._figures[f"clusters_{policy}"] = partial(self._contents, 1.0, {title: policy})

    @property
    def names(self) -> list[str]:
        return list(self._figures)

    def draw(self, name: str) -> Figure:
        """One figure by name."""
        if name not in self._figures:
            raise unknown_name("figure", name, self._figures)
        return self._figures[name]()

    def _results(self, experiment: str, dataset: str) -> Figure:
        runs: dict[str, dict[str, list[Record]]] = {split: {} for split in SPLITS}
        for job in experiment_jobs(self.profile, experiment, dataset, self.methods, self.seeds):
            runs[job.spec.split][job.spec.learner] = self.store.records(*job)
        reasons = dict.fromkeys(SPLITS, self.missing[dataset]) if dataset in self.missing else None
        return result_figure(runs, dataset=dataset, experiment=experiment, reasons=reasons, reduced=self.reduced)

    @property
    def _study_title(self) -> str:
        dataset = study_dataset(self.profile, self.datasets)
        return f"{DATASETS.get(dataset, dataset)} class split"

    def _study_runs(self) -> dict[tuple[str, float], list[Record]]:
        jobs = study_jobs(self.profile, study_dataset(self.profile, self.datasets), self.seeds)
        settings = [job.spec.learner_settings for job in jobs]
        return {
            (own["policy"], own["sampling_rate"]): self.store.records(*job)
            for own, job in zip(settings, jobs, strict=True)
        }

    def _study(self) -> Figure:
        title = f"TA-A-GEM with and without clustering, {self._study_title}"
        return study_figure(self._study_runs(), title=title, reduced=self.reduced)

    def _contents(self, rate: float, policies: Mapping[str, str]) -> Figure:
        runs = self._study_runs()
        panels = {title: next(iter(runs[policy, rate]), None) for title, policy in policies.items()}
        return timeline_figure(
            panels, title=f"Cluster contents, {self._study_title}, sampling rate {rate:g}", reduced=self.reduced
        )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="tacl figure", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="figures to make, or all; without a name they are listed")
    parser.add_argument("--profile", help=f"one of {', '.join(PROFILES)}; default: quick, or paper if you have no runs")
    parser.add_argument("--results", type=Path, help="the store; default: results, or the reference runs")
    parser.add_argument("--out", type=Path, help="default: figures/PROFILE")
    options = parser.parse_args(arguments)
    try:
        store = Store(options.results) if options.results else default_store()
        profile = profile_named(options.profile or ("paper" if store.is_reference else "quick"))
        gallery = Gallery(profile, store)
        if not options.names:
            print("\n".join(gallery.names))
        for name in gallery.names if options.names == ["all"] else options.names:
            folder = options.out or ROOT / "figures" / profile.name
            print(*save(gallery.draw(name), folder, name))
    except TaclError as error:
        sys.exit(f"gallery: {error}")


if __name__ == "__main__":
    main()

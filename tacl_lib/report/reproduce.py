"""`make reproduce`: every run, table and figure, through the notebooks, and a report at the end.

    tacl reproduce --profile quick [--datasets mnist …] [--methods sgd …] [--seeds 0 1 …]
                                 [--cluster tcp://…]
    tacl reproduce --status

Notebooks are executed by papermill; their copies, with output, go to ``build/PROFILE``, figures to
``figures/PROFILE``. They run their jobs on
shared workers, so that no core waits for a notebook. Whatever is finished is in ``results``: the same command goes
on where it was stopped.
"""

import argparse
import json
import logging
import os
import sys
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil
from tqdm.auto import tqdm

from tacl_lib import places
from tacl_lib.core.tasks import checked_seeds
from tacl_lib.data import available, load
from tacl_lib.errors import TaclError, terminate_as_interrupt, unknown_name
from tacl_lib.files import sweep, writable, write_whole
from tacl_lib.names import EXPERIMENTS, METHODS
from tacl_lib.paper.coverage import coverage
from tacl_lib.report.page import Times, write_report
from tacl_lib.runs.cluster import count_workers, workers
from tacl_lib.runs.cost import work
from tacl_lib.runs.forecast import forecast
from tacl_lib.runs.grid import Job, all_jobs, study_dataset
from tacl_lib.runs.profiles import PROFILES, Profile, profile_named
from tacl_lib.runs.status import states_of, status_table
from tacl_lib.runs.store import OWN, REFERENCE, Store
from tacl_lib.runs.together import Together

#: Notebooks executed at once: while one draws its figures, another one keeps the workers busy.
AT_ONCE = 3


@dataclass(frozen=True)
class Plan:
    """What one reproduction does."""

    profile: Profile
    datasets: tuple[str, ...]  #: that are available
    missing: dict[str, str]  #: the others, with the reason
    methods: tuple[str, ...]
    seeds: tuple[int, ...]

    @property
    def jobs(self) -> list[Job]:
        return all_jobs(self.profile, self.datasets, self.methods, self.seeds)

    @property
    def study_dataset(self) -> str:
        return study_dataset(self.profile, self.datasets)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="tacl reproduce", description=__doc__.split("\n")[0])
    parser.add_argument("--profile", default="quick", help=f"one of {', '.join(PROFILES)}; default: quick")
    parser.add_argument("--datasets", nargs="*", help="default: all of the profile")
    parser.add_argument("--methods", nargs="*", default=tuple(METHODS), help="default: all seven")
    parser.add_argument("--seeds", nargs="*", type=int, help="default: those of the profile")
    parser.add_argument("--cluster", help="address of a Dask scheduler; default: this machine")
    parser.add_argument("--results", type=Path, default=OWN, help="the store; default: results")
    parser.add_argument("--build", type=Path, default=places.BUILD, help="where output goes; default: build")
    parser.add_argument("--figures", type=Path, default=places.FIGURES, help="where figures go; default: figures")
    parser.add_argument("--status", action="store_true", help="only show which runs are done, running and missing")
    options = parser.parse_args(arguments)
    try:
        terminate_as_interrupt()
        profile = profile_named(options.profile, options.seeds)
        chosen = (tuple(options.methods or METHODS), checked_seeds(profile.seeds))
        names = tuple(options.datasets or profile.datasets)
        for name in names:
            if name not in available():
                raise unknown_name("dataset", name, available())
        if options.status:
            try:
                _print_status(profile, all_jobs(profile, names, *chosen), Store(options.results))
            except OSError as error:
                raise TaclError(
                    f"{options.results} cannot be read ({error.strerror}); choose another folder."
                ) from error
            return
        plan = make_plan(profile, names, *chosen)
        complete = os.path.isdir(options.results) and not any(Store(options.results).missing(*job) for job in plan.jobs)
        writable(*[] if complete else [options.results], options.build, options.figures)
        os.environ.setdefault("TACL_HOME", str(places.HOME))  # kernels and workers start in other folders
        build, figures = (folder.absolute() / profile.name for folder in (options.build, options.figures))
        reproduce(plan, options.results.absolute(), build, figures, options.cluster)
    except TaclError as error:
        sys.exit(f"reproduce: {error}")
    except KeyboardInterrupt:
        sys.exit("reproduce: stopped; finished runs are stored, run the same command again to continue.")


def _print_status(profile: Profile, jobs: list[Job], store: Store) -> None:
    """What is done and what is left, the project's reference runs included, and how long the rest takes here."""
    states = states_of(jobs, store, Store(REFERENCE))
    print(status_table(states))
    if profile.name == "paper":
        print(coverage(Together(store.folder)))
    print(forecast(states, lambda text: print(f"{text} …", file=sys.stderr)).line())


def make_plan(profile: Profile, datasets: Sequence[str], methods: tuple[str, ...], seeds: tuple[int, ...]) -> Plan:
    """Find out which datasets are available here; the others are named with the reason."""
    found, missing = [], {}
    for name in datasets:
        try:
            load(name)
            found.append(name)
        except TaclError as error:
            missing[name] = str(error).replace("\n", " ")
            print(f"{name} is left out: {str(error).splitlines()[0]}", file=sys.stderr)
    if not found:
        raise TaclError("none of the datasets is available: " + "; ".join(missing.values()))
    plan = Plan(profile, tuple(found), missing, methods, seeds)
    _ = plan.jobs  # an unknown method is named now, not in the middle of the work
    return plan


def reproduce(plan: Plan, results: Path, build: Path, figures: Path, cluster: str | None = None) -> Path:
    """Execute all notebooks of a plan and write the report; returns its path."""
    times = Times(begun=datetime.now(UTC))
    common = {
        "profile": plan.profile.name,
        "methods": list(plan.methods),
        "seeds": list(plan.seeds),
        "results": str(results),
    }
    for folder in (build, figures):
        sweep(folder)
    write_whole(build / "plan.json", lambda part: part.write_text(json.dumps(common | {"missing": plan.missing})))
    with workers(cluster) as address:
        times.workers = count_workers(address)
        running = common | {"cluster": address}
        notebooks = [
            ("06_experiment", f"{experiment}-{dataset}", running | {"dataset": dataset, "experiment": experiment})
            for dataset in plan.datasets
            for experiment in EXPERIMENTS
        ]
        if "ta_agem" in plan.methods:
            notebooks.append(("07_clustering_study", "clustering-study", running | {"dataset": plan.study_dataset}))
        _execute_all(notebooks, build, plan.jobs, Store(results))
    times.runs_over = datetime.now(UTC)
    last = common | {"datasets": list(plan.datasets), "missing": plan.missing}
    last |= {"build": str(build), "figures": str(figures)}
    print("tables and figures …", file=sys.stderr)
    _execute("08_tables_and_figures", build / "tables-and-figures.ipynb", last)
    times.over = datetime.now(UTC)
    report = write_report(build, plan.profile, plan.jobs, plan.missing, Store(results), times)
    print(f"\nThe report: {report}")  # whole: papermill changes the working folder of this process
    return report


def _execute_all(notebooks: list[tuple[str, str, dict]], build: Path, jobs: list[Job], store: Store) -> None:
    """Execute notebooks, a few at once, under one progress bar over the estimated work of all jobs."""
    todo = [job for job in jobs if store.missing(job.spec, job.seeds)]
    layout = "{l_bar}{bar}| of the estimated work [{elapsed}<{remaining}]"
    with (
        ThreadPoolExecutor(AT_ONCE) as pool,
        tqdm(total=round(sum(map(work, todo))), desc="all runs", bar_format=layout, disable=not todo) as bar,
    ):
        futures: set[Future] = {
            pool.submit(_execute, name, build / f"{copy}.ipynb", parameters) for name, copy, parameters in notebooks
        }
        try:
            _watch(futures, todo, store, bar)
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)  # what has not begun must not begin
            if isinstance(error, KeyboardInterrupt):
                _end_kernels()
            raise


def _watch(futures: set[Future], todo: list[Job], store: Store, bar: tqdm) -> None:
    """Move the bar until all notebooks are through; the first error ends it."""
    while futures:
        finished, futures = wait(futures, timeout=1, return_when=FIRST_COMPLETED)
        left = [job for job in todo if store.missing(job.spec, job.seeds)]
        bar.n = round(sum(map(work, todo)) - sum(map(work, left)))
        bar.refresh()
        for future in finished:
            if future.exception() is not None:
                raise future.exception()


def _end_kernels() -> None:
    """Kernels live in sessions of their own, so Ctrl-C does not reach them; what they had finished is stored."""
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if any("ipykernel" in word for word in child.cmdline()):
                child.kill()


def _execute(name: str, copy: Path, parameters: dict) -> None:
    """Execute one notebook with parameters; an error in it becomes one sentence."""
    # Here, as they take seconds: the work before them starts at once.
    import papermill
    from nbclient.exceptions import DeadKernelError

    copy.parent.mkdir(parents=True, exist_ok=True)
    logging.getLogger("papermill").setLevel(logging.ERROR)
    try:
        papermill.execute_notebook(
            places.NOTEBOOKS / f"{name}.ipynb",
            copy,
            parameters,
            kernel_name="python3",
            progress_bar=False,
            store_widget_state=False,
            cwd=copy.parent,
            extra_arguments=["--IPKernelApp.log_level=ERROR"],  # no notes on how the kernel is connected
        )
    except papermill.PapermillExecutionError as error:
        raise TaclError(f"{error.evalue} (in {os.path.relpath(copy)})") from error
    except DeadKernelError as error:
        raise TaclError(
            f"the kernel of {os.path.relpath(copy)} died, perhaps because memory ran out; finished runs are stored, "
            "run the same command again to continue."
        ) from error


if __name__ == "__main__":
    main()

"""What the paper says about its tables, each claim as a test on numbers.

A claim has parts, one for each column or pair that it covers. A part holds, fails, or cannot be tested because runs are
missing. Limits in brackets are ours: the paper gives none.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import pandas as pd

from tacl_lib.names import DATASETS, EXPERIMENTS, METHODS, METRICS, SPLITS, title
from tacl_lib.paper.compare import DIGITS
from tacl_lib.paper.judging import (
    USUAL,
    Finding,
    Limits,
    Part,
    Results,
    as_printed,
    near,
    number,
    significantly_best,
    significantly_better,
)
from tacl_lib.paper.memory_claims import Study, about_memory
from tacl_lib.paper.published import is_task_aware, methods_in

AGNOSTIC = tuple(method for method in METHODS if not is_task_aware(method))
OURS = ("ta_ogd", "ta_agem")
LIKE_MNIST, COLOURED = ("mnist", "fashion_mnist", "notmnist"), ("cifar10", "svhn")


def findings(runs: pd.DataFrame, study: Study | None = None, limits: Limits = USUAL) -> list[Finding]:
    """All claims, in the paper's order. runs: `Store.summaries` of the paper's profile.

    limits: to judge by; the texts always name the usual ones.
    """
    results = Results(runs)
    found = [Finding(claim.text, tuple(claim.parts(results, limits)), claim.key) for claim in CLAIMS]
    sgd = results.values("fashion_mnist", "class", "sgd", metric="forgetting")
    return [*found, *about_memory(study or {}, sgd, limits)]


def _less_forgetting(results: Results, _: Limits) -> Iterator[Part]:
    for experiment in EXPERIMENTS:
        for dataset in DATASETS:
            for split in SPLITS:
                for method in OURS:
                    yield significantly_better(results, dataset, split, method, "sgd", "forgetting", experiment)


def _beat_bgd(results: Results, _: Limits, splits: tuple[str, ...]) -> Iterator[Part]:
    for dataset in LIKE_MNIST:
        for split in splits:
            for method in OURS:
                yield significantly_better(results, dataset, split, method, "bgd")


def _like_bgd(results: Results, limits: Limits) -> Iterator[Part]:
    for dataset in COLOURED:
        for split in SPLITS:
            for method in OURS:
                yield near(results, (dataset, split, method), (dataset, split, "bgd"), limits.comparable)


def _permutation_alike(results: Results, limits: Limits) -> Iterator[Part]:
    for dataset in LIKE_MNIST:
        means = [results.mean(dataset, "permutation", method) for method in METHODS]
        known = [mean for mean in means if mean is not None]
        spread = f"{min(known):.3f} to {max(known):.3f}" if known else "–"
        alike = as_printed(max(known), min(known)) <= limits.alike if None not in means else None
        yield Part(alike, f"{title('dataset', dataset)}: {spread}")


def _sgd_on_permutation(results: Results, limits: Limits) -> Iterator[Part]:
    for dataset in LIKE_MNIST:
        values = {split: results.mean(dataset, split, "sgd", metric="forgetting") for split in SPLITS}
        forgotten = values["permutation"]
        little = None if forgotten is None else round(forgotten, DIGITS) <= limits.little_forgetting
        yield Part(little, f"{title('dataset', dataset)}: SGD's forgetting on permutation {number(forgotten)}")
        tested = None not in values.values()
        less = forgotten < min(values["rotation"], values["class"]) if tested else None
        shown = ", ".join(f"{split} {number(value)}" for split, value in values.items())
        yield Part(less, f"{title('dataset', dataset)}: its forgetting on {shown}")


def _agem_on_rotation(results: Results, _: Limits) -> Iterator[Part]:
    for dataset in LIKE_MNIST:
        yield significantly_best(results, dataset, "rotation", "agem", tuple(METHODS))


def _less_forgetting_on_rotation(results: Results, _: Limits) -> Iterator[Part]:
    for dataset in ("mnist", "notmnist"):
        for method in OURS:
            yield significantly_better(results, dataset, "rotation", method, "sgd", "forgetting")


def _best_on_rotation(results: Results, _: Limits) -> Iterator[Part]:
    yield significantly_best(results, "fashion_mnist", "rotation", "ta_agem", AGNOSTIC)


def _lead_is_largest_on_class(results: Results, _: Limits) -> Iterator[Part]:
    for dataset in LIKE_MNIST:
        leads = {}
        for split in SPLITS:
            means = {method: results.mean(dataset, split, method) for method in AGNOSTIC}
            if None not in means.values():
                best = max(means[method] for method in OURS)
                leads[split] = best - max(means[method] for method in AGNOSTIC if method not in OURS)
        holds = max(leads, key=leads.get) == "class" if len(leads) == len(SPLITS) else None
        shown = ", ".join(f"{split} {leads[split]:+.3f}" if split in leads else f"{split} –" for split in SPLITS)
        yield Part(holds, f"{title('dataset', dataset)}: {shown}")


def _best_on_class(results: Results, _: Limits) -> Iterator[Part]:
    for method in OURS:
        for rival in (name for name in AGNOSTIC if name not in OURS):
            yield significantly_better(results, "mnist", "class", method, rival)


def _on_par_on_fashion_mnist(results: Results, limits: Limits) -> Iterator[Part]:
    yield near(
        results,
        ("fashion_mnist", "class", "ta_agem"),
        ("fashion_mnist", "class", "agem"),
        limits.on_par,
        or_higher=True,
    )


def _on_par_on_notmnist(results: Results, limits: Limits) -> Iterator[Part]:
    yield significantly_best(results, "notmnist", "class", "ta_ogd", AGNOSTIC)
    yield near(results, ("notmnist", "class", "ta_ogd"), ("notmnist", "class", "agem"), limits.on_par, or_higher=True)


def _continuous_alike(results: Results, limits: Limits, metric: str) -> Iterator[Part]:
    for dataset in DATASETS:
        for split in SPLITS:
            for method in methods_in("continuous"):
                cell = (dataset, split, method)
                yield near(results, cell, cell, limits.comparable, experiment="continuous", metric=metric)


def _not_lower_when_blurred(results: Results, limits: Limits) -> Iterator[Part]:
    for dataset in DATASETS:
        for split in SPLITS:
            for method in OURS:
                cell = (dataset, split, method)
                yield near(results, cell, cell, limits.comparable, experiment="continuous", or_higher=True)


class Claim(NamedTuple):
    """A claim about the tables."""

    key: str
    text: str
    parts: Callable[[Results, Limits], Iterator[Part]]


CLAIMS = (
    Claim(
        "less_forgetting",
        "TA-OGD and TA-A-GEM forget significantly less than SGD, without being told the tasks",
        _less_forgetting,
    ),
    Claim(
        "beat_bgd",
        "On rotation and class split of MNIST, Fashion-MNIST and notMNIST the two are significantly better than BGD",
        partial(_beat_bgd, splits=("rotation", "class")),
    ),
    Claim(
        "beat_bgd_on_permutation",
        "The same on permutation (where the paper also says that there are no remarkable differences)",
        partial(_beat_bgd, splits=("permutation",)),
    ),
    Claim("like_bgd", f"On CIFAR-10 and SVHN the two are comparable to BGD (within {USUAL.comparable})", _like_bgd),
    Claim(
        "permutation_alike",
        f"On permutation there are no remarkable differences between methods (all within {USUAL.alike})",
        _permutation_alike,
    ),
    Claim(
        "sgd_on_permutation",
        f"On permutation SGD forgets little (at most {USUAL.little_forgetting}, and less than on rotation or class "
        "split)",
        _sgd_on_permutation,
    ),
    Claim(
        "agem_on_rotation",
        "On rotation A-GEM, which is told the tasks, is significantly better than all other methods",
        _agem_on_rotation,
    ),
    Claim(
        "less_forgetting_on_rotation",
        "On rotation of MNIST and notMNIST the two mitigate forgetting moderately (significantly less than SGD)",
        _less_forgetting_on_rotation,
    ),
    Claim(
        "best_on_rotation",
        "On rotation of Fashion-MNIST TA-A-GEM is significantly the best task-agnostic method",
        _best_on_rotation,
    ),
    Claim(
        "lead_on_class",
        "The better of the two leads all other task-agnostic methods by most on class split",
        _lead_is_largest_on_class,
    ),
    Claim(
        "best_on_class",
        "On class split of MNIST the two are significantly better than the other task-agnostic methods",
        _best_on_class,
    ),
    Claim(
        "on_par_on_fashion_mnist",
        f"On class split of Fashion-MNIST TA-A-GEM is on par with A-GEM (at most {USUAL.on_par} lower)",
        _on_par_on_fashion_mnist,
    ),
    Claim(
        "on_par_on_notmnist",
        "On class split of notMNIST TA-OGD is the best task-agnostic method, and on par with A-GEM (at most "
        f"{USUAL.on_par} lower)",
        _on_par_on_notmnist,
    ),
    *(
        Claim(
            f"continuous_{metric}",
            f"Continuous change gives about the same {title('metric', metric).lower()} (within {USUAL.comparable})",
            partial(_continuous_alike, metric=metric),
        )
        for metric in METRICS
    ),
    Claim(
        "blurred",
        f"The two do just as well where task boundaries are blurred (at most {USUAL.comparable} lower)",
        _not_lower_when_blurred,
    ),
)

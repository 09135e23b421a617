"""What the paper's section 4 says in words, each claim as a test on numbers.

A claim has parts, one for each column or pair that it speaks of. A part holds, fails, or cannot be tested because a
run is missing. Limits in brackets are ours: the paper gives none.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import exp, log

import pandas as pd

from tacl_lib.paper.compare import DIGITS
from tacl_lib.paper.judging import (
    Finding,
    Part,
    Results,
    near,
    number,
    significantly_best,
    significantly_better,
)
from tacl_lib.paper.published import DATASETS, METHODS, METRICS, SPLITS, is_task_aware, methods_in
from tacl_lib.record import Record

ON_PAR = 0.015  #: how far below "on par" may be
COMPARABLE = 0.03
LITTLE = 0.05  #: largest spread of mean accuracies over methods with "no remarkable differences"
LITTLE_FORGETTING = 0.1
AGNOSTIC = tuple(method for method in METHODS if not is_task_aware(method))
OURS = ("ta_ogd", "ta_agem")
LIKE_MNIST, COLOURED = ("mnist", "fashion_mnist", "notmnist"), ("cifar10", "svhn")

Study = Mapping[tuple[str, float], Sequence[Record]]  #: records of the clustering study by (policy, sampling rate)


def findings(runs: pd.DataFrame, study: Study | None = None) -> list[Finding]:
    """All claims, in the paper's order. runs: `Store.summaries` of the paper's profile."""
    results = Results(runs)
    claims: list[tuple[str, Callable[[Results], Iterator[Part]]]] = [
        ("TA-OGD and TA-A-GEM do significantly better than BGD on MNIST, Fashion MNIST and NOT MNIST", _beat_bgd),
        (f"On CIFAR10 and SVHN the two are comparable to BGD (within {COMPARABLE})", _like_bgd),
        (f"On permutation no remarkable differences between methods (all within {LITTLE})", _permutation_alike),
        (
            f"On permutation SGD forgets little (at most {LITTLE_FORGETTING}, and less than on rotation and on class "
            "split)",
            _sgd_on_permutation,
        ),
        ("On rotation A-GEM, which is told the tasks, is significantly best of all", _agem_on_rotation),
        (
            "On rotation of MNIST and NOT MNIST the two forget significantly less than SGD",
            _less_forgetting_on_rotation,
        ),
        (
            "On rotation of Fashion MNIST TA-A-GEM is significantly the best task-agnostic method",
            _best_on_rotation,
        ),
        (
            "The lead of the better of the two over all other task-agnostic methods is largest on class split",
            _lead_is_largest_on_class,
        ),
        (
            "On class split of MNIST the two are significantly better than the other task-agnostic ones",
            _best_on_class,
        ),
        (f"On class split of Fashion MNIST TA-A-GEM is on par with A-GEM (at most {ON_PAR} lower)", _on_par_fashion),
        (
            "On class split of NOT MNIST TA-OGD is best of the task-agnostic and on par with A-GEM (at most "
            f"{ON_PAR} lower)",
            _crown_on_notmnist,
        ),
        *(
            (
                f"Continuous change gives about the same {METRICS[metric].title.lower()} (within {COMPARABLE})",
                lambda results, metric=metric: _continuous_alike(results, metric),
            )
            for metric in METRICS
        ),
        (f"With blurred boundaries the two fare just as well (at most {COMPARABLE} lower)", _not_lower_when_blurred),
    ]
    found = [Finding(claim, tuple(parts(results))) for claim, parts in claims]
    return [*found, *about_clusters(study or {})]


def _beat_bgd(results: Results) -> Iterator[Part]:
    for dataset in LIKE_MNIST:
        for split in SPLITS:
            for method in OURS:
                yield significantly_better(results, dataset, split, method, "bgd")


def _like_bgd(results: Results) -> Iterator[Part]:
    for dataset in COLOURED:
        for split in SPLITS:
            for method in OURS:
                yield near(results, (dataset, split, method), (dataset, split, "bgd"), COMPARABLE)


def _permutation_alike(results: Results) -> Iterator[Part]:
    for dataset in LIKE_MNIST:
        means = [results.mean(dataset, "permutation", method) for method in METHODS]
        known = [mean for mean in means if mean is not None]
        spread = f"{DATASETS[dataset]}: {min(known):.3f} to {max(known):.3f}" if known else f"{DATASETS[dataset]}: –"
        yield Part(max(known) - min(known) <= LITTLE if None not in means else None, spread)


def _sgd_on_permutation(results: Results) -> Iterator[Part]:
    for dataset in LIKE_MNIST:
        values = {split: results.mean(dataset, split, "sgd", metric="forgetting") for split in SPLITS}
        forgotten = values["permutation"]
        little = None if forgotten is None else round(forgotten, DIGITS) <= LITTLE_FORGETTING
        yield Part(little, f"{DATASETS[dataset]}: permutation {number(forgotten)}")
        tested = None not in values.values()
        less = forgotten < min(values["rotation"], values["class"]) if tested else None
        yield Part(less, f"{DATASETS[dataset]}: " + ", ".join(f"{s} {number(v)}" for s, v in values.items()))


def _agem_on_rotation(results: Results) -> Iterator[Part]:
    for dataset in LIKE_MNIST:
        yield significantly_best(results, dataset, "rotation", "agem", tuple(METHODS))


def _less_forgetting_on_rotation(results: Results) -> Iterator[Part]:
    for dataset in ("mnist", "notmnist"):
        for method in OURS:
            yield significantly_better(results, dataset, "rotation", method, "sgd", "forgetting")


def _best_on_rotation(results: Results) -> Iterator[Part]:
    yield significantly_best(results, "fashion_mnist", "rotation", "ta_agem", AGNOSTIC)


def _lead_is_largest_on_class(results: Results) -> Iterator[Part]:
    for dataset in LIKE_MNIST:
        leads = {}
        for split in SPLITS:
            means = {method: results.mean(dataset, split, method) for method in AGNOSTIC}
            if None not in means.values():
                best = max(means[method] for method in OURS)
                leads[split] = best - max(means[method] for method in AGNOSTIC if method not in OURS)
        holds = max(leads, key=leads.get) == "class" if len(leads) == len(SPLITS) else None
        shown = ", ".join(f"{split} {leads[split]:+.3f}" if split in leads else f"{split} –" for split in SPLITS)
        yield Part(holds, f"{DATASETS[dataset]}: {shown}")


def _best_on_class(results: Results) -> Iterator[Part]:
    for method in OURS:
        for rival in (name for name in AGNOSTIC if name not in OURS):
            yield significantly_better(results, "mnist", "class", method, rival)


def _on_par_fashion(results: Results) -> Iterator[Part]:
    yield near(
        results, ("fashion_mnist", "class", "ta_agem"), ("fashion_mnist", "class", "agem"), ON_PAR, or_higher=True
    )


def _crown_on_notmnist(results: Results) -> Iterator[Part]:
    yield significantly_best(results, "notmnist", "class", "ta_ogd", AGNOSTIC)
    yield near(results, ("notmnist", "class", "ta_ogd"), ("notmnist", "class", "agem"), ON_PAR, or_higher=True)


def _continuous_alike(results: Results, metric: str) -> Iterator[Part]:
    for dataset in DATASETS:
        for split in SPLITS:
            for method in methods_in("continuous"):
                cell = (dataset, split, method)
                yield near(results, cell, cell, COMPARABLE, experiment="continuous", metric=metric)


def _not_lower_when_blurred(results: Results) -> Iterator[Part]:
    for dataset in DATASETS:
        for split in SPLITS:
            for method in OURS:
                cell = (dataset, split, method)
                yield near(results, cell, cell, COMPARABLE, experiment="continuous", or_higher=True)


def about_clusters(study: Study) -> Iterator[Finding]:
    """What the memory holds, from the recorded counts of members by true task, at sampling rate 1."""
    clustered, random = ({r.seed: r for r in study.get((policy, 1.0), ())} for policy in ("clustering", "random"))
    kept = []
    for seed, record in clustered.items():
        old = int(record.memory[-1, :2].sum())
        kept.append(Part(old > 0, f"seed {seed}: {old} of {int(record.memory[-1].sum())} members at the end"))
    varied = []
    for seed in sorted(clustered.keys() & random.keys()):
        ours, theirs = (_tasks_in(runs[seed].memory[-1]) for runs in (clustered, random))
        varied.append(Part(ours > theirs, f"seed {seed}: {ours:.2f} tasks, {theirs:.2f} with random assignment"))
    lost = []
    for seed, record in random.items():
        task = record.epochs["task"].to_numpy()
        first_epochs = [epoch for epoch in range(1, len(task)) if task[epoch] != task[epoch - 1]]
        share = max(1 - record.memory[e, task[e]] / record.memory[e].sum() for e in first_epochs)
        lost.append(Part(bool(share <= LITTLE), f"seed {seed}: at most {share:.1%} one epoch after a change"))
    nothing = (Part(None, "not run"),)
    for claim, parts in (
        ("Clustering keeps a greater variety of tasks than random assignment (at the end, exp of the entropy)", varied),
        ("With clustering, samples of the first two tasks are kept to the end", kept),
        (f"With random assignment old tasks are lost almost at once (at most {LITTLE:.0%} left after an epoch)", lost),
    ):
        yield Finding(claim, tuple(parts) or nothing)


def _tasks_in(members: Sequence[int]) -> float:
    """How many tasks a memory holds, those with few members counting little: exp of the entropy of their shares."""
    shares = [count / sum(members) for count in members if count]
    return exp(-sum(share * log(share) for share in shares))

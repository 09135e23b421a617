"""What the paper's section 4 says in words, each claim as a test on our numbers.

A claim has parts, one for each column or pair that it speaks of. A part holds, fails, or cannot be tested because a
run is missing. "Significantly" is Welch's test at 99%, as in the paper's tables; words such as "comparable" or "on
par" get the number that is written beside them here.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite

import pandas as pd

from tacl_lib.metrics import not_worse
from tacl_lib.paper.published import DATASETS, METHODS, methods_in, published
from tacl_lib.record import Record

ON_PAR = 0.015  #: largest difference of mean accuracies that we call "on par"
COMPARABLE = 0.03
LITTLE = 0.05  #: largest spread of mean accuracies over methods with "no remarkable differences"
AGNOSTIC = ("sgd", "sgd_lr_adapt", "bgd", "ta_ogd", "ta_agem")
OURS = ("ta_ogd", "ta_agem")
LIKE_MNIST, COLOURED = ("mnist", "fashion_mnist", "notmnist"), ("cifar10", "svhn")


@dataclass(frozen=True)
class Part:
    """One thing that a claim says."""

    holds: bool | None  #: None: not tested, as runs are missing or diverged
    numbers: str


@dataclass(frozen=True)
class Finding:
    """A claim and what became of it."""

    claim: str
    parts: tuple[Part, ...]

    @property
    def verdict(self) -> str:
        tested = [part.holds for part in self.parts if part.holds is not None]
        if not tested:
            return "not tested"
        word = "holds" if all(tested) else "holds in part" if any(tested) else "does not hold"
        return word if len(tested) == len(self.parts) else f"{word}, as far as tested"

    @property
    def tested(self) -> str:
        """How many parts hold, of how many."""
        count = sum(part.holds is not None for part in self.parts)
        return f"{sum(bool(part.holds) for part in self.parts)} of {count} tested, {len(self.parts)} in all"


class Results:
    """Results over runs by cell. runs: `Store.summaries` of the paper's profile."""

    def __init__(self, runs: pd.DataFrame):
        keys = ["experiment", "dataset", "split", "method"]
        self._groups = {key: group for key, group in runs.groupby(keys, sort=False)}

    def values(self, dataset: str, split: str, method: str, metric="average_accuracy", experiment="disjoint"):
        """One number per run; empty where nothing was run, or where a run diverged: that is no number to compare."""
        group = self._groups.get((experiment, dataset, split, method))
        values = [] if group is None else list(group[metric])
        return values if all(map(isfinite, values)) else []

    def mean(self, *cell: str, **of: str) -> float | None:
        values = self.values(*cell, **of)
        return sum(values) / len(values) if values else None


def published_runs() -> pd.DataFrame:
    """The paper's numbers in the form of runs: two of each cell without any spread."""
    wide = published().pivot(index=["experiment", "dataset", "split", "method"], columns="metric", values="value")
    return pd.concat([wide.reset_index().assign(seed=seed) for seed in range(2)], ignore_index=True)


def findings(runs: pd.DataFrame, study: dict[tuple[str, float], Sequence[Record]] | None = None) -> list[Finding]:
    """All claims. study: records of the clustering study by (policy, sampling rate)."""
    results = Results(runs)
    claims: list[tuple[str, Callable[[Results], Iterator[Part]]]] = [
        ("TA-OGD and TA-A-GEM do significantly better than BGD on MNIST, Fashion MNIST and NOT MNIST", _beat_bgd),
        (f"On CIFAR10 and SVHN the two are comparable to BGD (within {COMPARABLE})", _like_bgd),
        (f"On permutation no remarkable differences between methods (all within {LITTLE})", _permutation_alike),
        ("SGD forgets little on permutation (less than on rotation and on class split)", _sgd_on_permutation),
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
            "On class split of MNIST the two are significantly better than the other task-agnostic ones",
            _best_on_class,
        ),
        (f"On class split of Fashion MNIST TA-A-GEM is on par with A-GEM (within {ON_PAR})", _on_par_fashion),
        (
            f"On class split of NOT MNIST TA-OGD is best of the task-agnostic and on par with A-GEM (within {ON_PAR})",
            _crown_on_notmnist,
        ),
        (f"Continuous change gives about the same average accuracy (within {COMPARABLE})", _continuous_alike),
        (f"With blurred boundaries the two fare just as well (at most {COMPARABLE} lower)", _not_lower_when_blurred),
    ]
    found = [Finding(claim, tuple(parts(results))) for claim, parts in claims]
    return [*found, *_about_clusters(study or {})]


def _beat_bgd(results: Results) -> Iterator[Part]:
    for dataset in LIKE_MNIST:
        for split in ("permutation", "rotation", "class"):
            for method in OURS:
                yield _significantly_better(results, dataset, split, method, "bgd")


def _like_bgd(results: Results) -> Iterator[Part]:
    for dataset in COLOURED:
        for split in ("permutation", "rotation", "class"):
            for method in OURS:
                yield _near(results, (dataset, split, method), (dataset, split, "bgd"), COMPARABLE)


def _permutation_alike(results: Results) -> Iterator[Part]:
    for dataset in LIKE_MNIST:
        means = [results.mean(dataset, "permutation", method) for method in METHODS]
        known = [mean for mean in means if mean is not None]
        spread = f"{DATASETS[dataset]}: {min(known):.3f} to {max(known):.3f}" if known else f"{DATASETS[dataset]}: –"
        yield Part(max(known) - min(known) <= LITTLE if None not in means else None, spread)


def _sgd_on_permutation(results: Results) -> Iterator[Part]:
    for dataset in LIKE_MNIST:
        values = {split: results.mean(dataset, split, "sgd", metric="forgetting") for split in _SPLITS}
        tested = None not in values.values()
        holds = values["permutation"] < min(values["rotation"], values["class"]) if tested else None
        yield Part(holds, f"{DATASETS[dataset]}: " + ", ".join(f"{s} {_number(v)}" for s, v in values.items()))


def _agem_on_rotation(results: Results) -> Iterator[Part]:
    for dataset in LIKE_MNIST:
        yield _best(results, dataset, "rotation", "agem", tuple(METHODS))


def _less_forgetting_on_rotation(results: Results) -> Iterator[Part]:
    for dataset in ("mnist", "notmnist"):
        for method in OURS:
            yield _significantly_better(results, dataset, "rotation", method, "sgd", "forgetting")


def _best_on_rotation(results: Results) -> Iterator[Part]:
    yield _best(results, "fashion_mnist", "rotation", "ta_agem", AGNOSTIC)


def _best_on_class(results: Results) -> Iterator[Part]:
    for method in OURS:
        for rival in ("sgd", "sgd_lr_adapt", "bgd"):
            yield _significantly_better(results, "mnist", "class", method, rival)


def _on_par_fashion(results: Results) -> Iterator[Part]:
    yield _near(results, ("fashion_mnist", "class", "ta_agem"), ("fashion_mnist", "class", "agem"), ON_PAR)


def _crown_on_notmnist(results: Results) -> Iterator[Part]:
    yield _best(results, "notmnist", "class", "ta_ogd", AGNOSTIC)
    yield _near(results, ("notmnist", "class", "ta_ogd"), ("notmnist", "class", "agem"), ON_PAR)


def _continuous_alike(results: Results) -> Iterator[Part]:
    for dataset in DATASETS:
        for split in _SPLITS:
            for method in methods_in("continuous"):
                cell = (dataset, split, method)
                yield _near(results, cell, cell, COMPARABLE, experiment="continuous")


def _not_lower_when_blurred(results: Results) -> Iterator[Part]:
    for dataset in DATASETS:
        for split in _SPLITS:
            for method in OURS:
                cell = (dataset, split, method)
                yield _near(results, cell, cell, COMPARABLE, experiment="continuous", or_higher=True)


def _about_clusters(study: dict[tuple[str, float], Sequence[Record]]) -> Iterator[Finding]:
    """What the memory holds, from the recorded counts of members by true task, at sampling rate 1."""
    kept, lost = [], []
    for record in study.get(("clustering", 1.0), ()):
        old = int(record.memory[-1, :2].sum())
        kept.append(Part(old > 0, f"seed {record.seed}: {old} of {int(record.memory[-1].sum())} members at the end"))
    for record in study.get(("random", 1.0), ()):
        task = record.epochs["task"].to_numpy()
        first_epochs = [epoch for epoch in range(1, len(task)) if task[epoch] != task[epoch - 1]]
        share = max(1 - record.memory[e, task[e]] / record.memory[e].sum() for e in first_epochs)
        lost.append(Part(bool(share <= LITTLE), f"seed {record.seed}: at most {share:.1%} one epoch after a change"))
    nothing = (Part(None, "not run"),)
    yield Finding("With clustering, samples of the first two tasks are kept to the end", tuple(kept) or nothing)
    yield Finding(
        f"With random assignment old tasks are lost almost at once (at most {LITTLE:.0%} left after an epoch)",
        tuple(lost) or nothing,
    )


_SPLITS = ("permutation", "rotation", "class")


def _significantly_better(
    results: Results, dataset: str, split: str, method: str, rival: str, metric: str = "average_accuracy"
) -> Part:
    cells = [results.values(dataset, split, m, metric=metric) for m in (method, rival)]
    ours, theirs = map(_mean, cells)
    numbers = f"{DATASETS[dataset]} {split}: {METHODS[method]} {ours}, {METHODS[rival]} {theirs}"
    return Part(_alone_at_the_top(cells, metric) == 0 if _can_be_tested(cells) else None, numbers)


def _near(
    results: Results,
    left: tuple,
    right: tuple,
    limit: float,
    experiment: str = "disjoint",
    or_higher: bool = False,
) -> Part:
    """Two cells within a limit; ``experiment`` is that of the left one. or_higher: the left one may be far above."""
    one, other = results.mean(*left, experiment=experiment), results.mean(*right)
    names = f"{METHODS[left[2]]} {_number(one)}, "
    names += f"disjoint {_number(other)}" if experiment != "disjoint" else f"{METHODS[right[2]]} {_number(other)}"
    numbers = f"{DATASETS[left[0]]} {left[1]}: {names}"
    if None in (one, other):
        return Part(None, numbers)
    return Part(abs(one - other) <= limit or (or_higher and one > other), numbers)


def _best(results: Results, dataset: str, split: str, method: str, among: tuple[str, ...]) -> Part:
    """The method is best, and no other is as good by Welch's test."""
    cells = [results.values(dataset, split, name) for name in among]
    numbers = f"{DATASETS[dataset]} {split}: "
    numbers += ", ".join(f"{METHODS[name]} {_mean(cell)}" for name, cell in zip(among, cells, strict=True))
    return Part(_alone_at_the_top(cells) == among.index(method) if _can_be_tested(cells) else None, numbers)


def _can_be_tested(cells: Sequence[Sequence[float]]) -> bool:
    """A single run has no deviation, so nothing can be said of significance."""
    return all(len(cell) >= 2 for cell in cells)


def _alone_at_the_top(cells: Sequence[Sequence[float]], metric: str = "average_accuracy") -> int | None:
    """Which of the cells is significantly better than each of the others; None if none is."""
    among_the_best = not_worse(cells, higher_is_better=metric != "forgetting")
    return among_the_best.index(True) if sum(among_the_best) == 1 else None


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _mean(values: Sequence[float]) -> str:
    return _number(sum(values) / len(values) if values else None)

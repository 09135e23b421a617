"""What short runs must show of the paper in kind: rules, checked on the runs and printed in the report."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from tacl_lib.names import DATASETS, EMBEDDED, METHODS, title
from tacl_lib.paper.judging import Finding, Part, Results, number
from tacl_lib.paper.published import published
from tacl_lib.training.record import Record

GAP = 0.03  #: a rule is asked only of columns where the paper's own gap exceeds it
ALIKE = 0.1  #: how far the means of short runs may lie apart that are called alike
PAPER_ALIKE = 0.05  #: the same in the paper, to ask at all
GUESSING = 0.2  #: the best of ten classes must reach it; guessing gives 0.1, the commonest class of SVHN 0.196

Study = Mapping[tuple[str, float], Sequence[Record]]  #: runs by policy and sampling rate


def in_kind(runs: pd.DataFrame, study: Study, study_dataset: str) -> list[Finding]:
    """The rules, each with a part for every dataset that it is asked of.

    runs: `Store.summaries` of one profile. study: the same profile's runs of clustering against random assignment.
    A dataset that the paper does not have is asked everything.
    """
    results = Results(runs[runs["experiment"] == "disjoint"])
    datasets = [name for name in (*EMBEDDED, *DATASETS) if name in set(runs["dataset"])]
    return [
        Finding("TA-A-GEM is above SGD on class split", tuple(_above_sgd(results, datasets))),
        Finding(f"On permutation all methods are alike (within {ALIKE})", tuple(_alike(results, datasets))),
        Finding("A-GEM, which is told the tasks, is best on rotation", tuple(_agem_best(results, datasets))),
        Finding(
            "Random assignment loses the first task from the memory (less than half of what clustering keeps)",
            tuple(_lost(study, study_dataset)),
        ),
    ]


def _above_sgd(results: Results, datasets: Sequence[str]) -> Iterator[Part]:
    for dataset in datasets:
        paper = _paper(dataset, "class")
        if paper and paper["ta_agem"] - paper["sgd"] <= GAP:
            continue
        ours, theirs = (results.mean(dataset, "class", method) for method in ("ta_agem", "sgd"))
        holds = None if None in (ours, theirs) else ours > theirs
        yield Part(holds, f"{title('dataset', dataset)}: TA-A-GEM {number(ours)}, SGD {number(theirs)}")


def _alike(results: Results, datasets: Sequence[str]) -> Iterator[Part]:
    for dataset in datasets:
        paper = _paper(dataset, "permutation")
        if paper and max(paper.values()) - min(paper.values()) > PAPER_ALIKE:
            continue
        means = _means(results, dataset, "permutation")
        holds = max(means.values()) - min(means.values()) <= ALIKE if len(means) > 1 else None
        yield _unless_guessing(means, Part(holds, f"{title('dataset', dataset)}: {_ends(means)}"))


def _agem_best(results: Results, datasets: Sequence[str]) -> Iterator[Part]:
    for dataset in datasets:
        paper = _paper(dataset, "rotation")
        if paper and paper["agem"] - max(value for method, value in paper.items() if method != "agem") <= GAP:
            continue
        means = _means(results, dataset, "rotation")
        rivals = {method: value for method, value in means.items() if method != "agem"}
        if "agem" not in means or not rivals:
            yield Part(None, f"{title('dataset', dataset)}: –")
            continue
        second = max(rivals, key=rivals.get)
        best, next_one = f"A-GEM {means['agem']:.3f}", f"{title('method', second)} {rivals[second]:.3f}"
        text = f"{title('dataset', dataset)}: {best}, next {next_one}"
        yield _unless_guessing(means, Part(means["agem"] > rivals[second], text))


def _unless_guessing(means: Mapping[str, float], part: Part) -> Part:
    """Methods that have learned nothing yet show nothing: neither that they are alike nor which is best."""
    if part.holds is None or max(means.values()) >= GUESSING:
        return part
    return Part(False, f"{part.numbers}; none is better than guessing")


def _lost(study: Study, dataset: str) -> Iterator[Part]:
    kept = {policy: _first_task(study.get((policy, 1.0), ())) for policy in ("clustering", "random")}
    tested = None not in kept.values()
    shares = ", ".join(f"{policy} {'–' if share is None else f'{share:.0%}'}" for policy, share in kept.items())
    yield Part(
        kept["random"] < kept["clustering"] / 2 if tested else None,
        f"{title('dataset', dataset)}: share of the first task at the end, {shares}",
    )


def _first_task(records: Sequence[Record]) -> float | None:
    """The share of the memory that the first task has when training ends, mean over runs."""
    return sum(record.first_task_share() for record in records) / len(records) if records else None


def _paper(dataset: str, split: str) -> dict[str, float]:
    """The paper's average accuracies of a column by method; empty if it does not have the dataset."""
    found = published().query("experiment == 'disjoint' and metric == 'average_accuracy'")
    found = found[(found["dataset"] == dataset) & (found["split"] == split)]
    return dict(zip(found["method"], found["value"], strict=True))


def _means(results: Results, dataset: str, split: str) -> dict[str, float]:
    means = {method: results.mean(dataset, split, method) for method in METHODS}
    return {method: mean for method, mean in means.items() if mean is not None}


def _ends(means: Mapping[str, float]) -> str:
    """The lowest and the highest method in words."""
    if not means:
        return "–"
    low, high = min(means, key=means.get), max(means, key=means.get)
    return f"{title('method', low)} {means[low]:.3f} to {title('method', high)} {means[high]:.3f}"

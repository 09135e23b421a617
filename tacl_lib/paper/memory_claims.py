"""What the paper says about the cluster memory (section 4.3 and the appendix on sampling rates), as tests on records.

All claims concern TA-A-GEM on the class split of Fashion-MNIST, with clusters and with random assignment, at three
sampling rates. The rules for the rates 0.01 and 0.1 were written before those runs were executed with the chosen
readings of the open settings; runs with other readings were known.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import exp, isfinite, log
from typing import NamedTuple

from tacl_lib.core.metrics import summary
from tacl_lib.names import SAMPLING_RATES
from tacl_lib.paper.judging import USUAL, Finding, Limits, Part, as_printed, better, mean_of
from tacl_lib.training.record import Record

Study = Mapping[tuple[str, float], Sequence[Record]]  #: records of the study by (policy, sampling rate)


def about_memory(study: Study, sgd: Sequence[float], limits: Limits) -> Iterator[Finding]:
    """What the memory holds, and what that does to forgetting. sgd: forgetting of plain SGD over runs."""
    for claim in CLAIMS:
        parts = tuple(claim.parts(study, sgd, limits))
        yield Finding(claim.text, parts or (Part(None, "not run"),), claim.key)


def _varied(study: Study, *_) -> Iterator[Part]:
    clustered, random = (_by_seed(study, policy, 1.0) for policy in ("clustering", "random"))
    for seed in sorted(clustered.keys() & random.keys()):
        ours, theirs = (_tasks_in(runs[seed].memory[-1]) for runs in (clustered, random))
        yield Part(ours > theirs, f"seed {seed}: {ours:.2f} tasks in the memory, {theirs:.2f} with random assignment")


def _kept(study: Study, _, limits: Limits) -> Iterator[Part]:
    for seed, record in _by_seed(study, "clustering", 1.0).items():
        members = record.memory[-1]
        counts = ", ".join(str(int(count)) for count in members)
        yield Part(bool(members[:2].sum() >= limits.few * members.sum()), f"seed {seed}: {counts} members by task")


def _lost(study: Study, _, limits: Limits, rate: float, epochs: int | None = None) -> Iterator[Part]:
    """Earlier tasks' share of the memory, this many epochs after the task changed, or else when the task ends."""
    for seed, record in _by_seed(study, "random", rate).items():
        task = record.epochs["task"].to_numpy()
        first = [epoch for epoch in range(1, len(task)) if task[epoch] != task[epoch - 1]]
        last = [epoch - 1 for epoch in first[1:]] + [len(task) - 1]
        looked_at = last if epochs is None else [epoch + epochs - 1 for epoch in first]
        left = max(1 - record.memory[e, task[e]] / record.memory[e].sum() for e in looked_at)
        when = "at the end of the next task" if epochs is None else "one epoch after a change"
        yield Part(bool(left <= limits.few), f"seed {seed}: at most {left:.1%} {when}")


def _varied_at_all_rates(study: Study, *_) -> Iterator[Part]:
    for rate in SAMPLING_RATES:
        records = study.get(("clustering", rate), ())
        if not records:
            yield Part(None, f"rate {rate:g}: –")
            continue
        found = [_tasks_in(record.memory[-1]) for record in records]
        enough = records[0].memory.shape[1] / 2
        yield Part(min(found) >= enough, f"rate {rate:g}: {min(found):.2f} to {max(found):.2f} tasks")


def _less_forgetting(study: Study, sgd: Sequence[float], _) -> Iterator[Part]:
    for rate in SAMPLING_RATES:
        ours = _forgetting(study, "clustering", rate)
        yield Part(better(ours, sgd, "forgetting"), f"rate {rate:g}: {mean_of(ours)}, SGD {mean_of(sgd)}")


def _less_forgetting_at_one_rate(study: Study, sgd: Sequence[float], limits: Limits) -> Iterator[Part]:
    for rate in SAMPLING_RATES:
        ours = _forgetting(study, "random", rate)
        if rate == 0.01:
            holds = better(ours, sgd, "forgetting")
        else:
            holds = abs(_difference(ours, sgd)) <= limits.comparable if ours and sgd else None
        yield Part(holds, f"rate {rate:g}: {mean_of(ours)}, SGD {mean_of(sgd)}")


def _as_effective(study: Study, _, limits: Limits) -> Iterator[Part]:
    random, clustered = (_forgetting(study, policy, 0.01) for policy in ("random", "clustering"))
    if random and clustered:
        holds = _difference(random, clustered) <= limits.comparable
        yield Part(holds, f"{mean_of(random)}, with clusters {mean_of(clustered)}")


def _by_seed(study: Study, policy: str, rate: float) -> dict[int, Record]:
    return {record.seed: record for record in study.get((policy, rate), ())}


def _forgetting(study: Study, policy: str, rate: float) -> list[float]:
    """One number per run; empty if nothing was run, or if a run diverged."""
    values = [summary(r.accuracy, r.seen)["forgetting"] for r in study.get((policy, rate), ())]
    return values if all(map(isfinite, values)) else []


def _difference(one: Sequence[float], other: Sequence[float]) -> float:
    return as_printed(sum(one) / len(one), sum(other) / len(other))


def _tasks_in(members: Sequence[int]) -> float:
    """The effective number of tasks in a memory: exp of the entropy of their shares."""
    shares = [count / sum(members) for count in members if count]
    return exp(-sum(share * log(share) for share in shares))


class Claim(NamedTuple):
    """A claim about the memory."""

    key: str
    text: str
    parts: Callable[[Study, Sequence[float], Limits], Iterator[Part]]


_SHARE = f"{USUAL.few:.0%}"
CLAIMS = (
    Claim(
        "more_varied",
        "Clustering keeps a greater variety of tasks than random assignment (rate 1, at the end; exp of the entropy)",
        _varied,
    ),
    Claim(
        "kept",
        f"With clustering, samples of the first two tasks survive to the end (rate 1; together at least {_SHARE})",
        _kept,
    ),
    Claim(
        "lost_at_once",
        f"With random assignment, old tasks are lost almost at once (rate 1; at most {_SHARE} left after an epoch)",
        partial(_lost, rate=1.0, epochs=1),
    ),
    Claim(
        "lost_quickly",
        f"With random assignment at rate 0.1 they are lost quickly (at most {_SHARE} left when the next task ends)",
        partial(_lost, rate=0.1),
    ),
    Claim(
        "varied_at_all_rates",
        "With clustering, a wide variety survives at all rates (at the end at least half of the tasks; exp of the "
        "entropy)",
        _varied_at_all_rates,
    ),
    Claim(
        "less_forgetting_at_all_rates",
        "With clustering, there is less forgetting at all rates (significantly less than with SGD)",
        _less_forgetting,
    ),
    Claim(
        "less_forgetting_at_one_rate",
        "With random assignment, only at rate 0.01 (significantly less than with SGD; at the other rates within "
        f"{USUAL.comparable} of it)",
        _less_forgetting_at_one_rate,
    ),
    Claim(
        "as_effective",
        "At rate 0.01 random assignment is just as effective as clustering (forgetting at most "
        f"{USUAL.comparable} higher)",
        _as_effective,
    ),
)

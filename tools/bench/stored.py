"""Cost of a step against the number of stored gradients: measured, fitted and drawn."""

from pathlib import Path

import numpy as np
import torch

from bench.contenders import DenseOgd
from bench.measure import Contender, Effort, fitted_exponent, race, spread, stepper, threads
from bench.rows import RUNS, SIZES, learner_named, made_batches, of_one_run
from tacl_lib.engine.mlp import Mlp
from tacl_lib.files import write_whole

DENSE_LIMIT = 1e9  #: bytes: larger dense matrices are not measured


def measured(effort: Effort) -> dict:
    """Milliseconds of one run's step for each number of stored gradients, one thread."""
    points = []
    parameter_count = Mlp((0,), SIZES).parameter_count
    with threads(1):
        for size in effort.stored:
            contenders = [_ogd(size)]
            if size * parameter_count * 4 <= DENSE_LIMIT:
                contenders.append(_dense(size, parameter_count))
            times = race(contenders, effort)
            point = {"stored": size, "raw_seconds": times}
            for name, values in times.items():
                point[name] = {key: value * 1e3 for key, value in spread(values).items()}
            points.append(point)
    fits = {}
    for name in ("ogd", "dense"):
        at = [point for point in points if name in point]
        if len(at) > 1:
            fits[name] = fitted_exponent([p["stored"] for p in at], [p[name]["median"] for p in at])
    return {"points": points, "exponent": fits, "unit": "ms per run-step", "runs": RUNS, "threads": 1}


def _ogd(size: int) -> Contender:
    """OGD with so many stored gradients in each of the stacked runs."""
    learner = learner_named("ogd", samples_per_task=size)
    wide = made_batches(batch=size, count=1)[0]
    learner.end_task(*wide)
    return stepper("ogd", learner.step, made_batches(), RUNS)


def _dense(size: int, parameter_count: int) -> Contender:
    """The dense projection. Its cost does not depend on what is stored, so it stores noise."""
    stored = torch.randn(size, parameter_count, generator=torch.Generator().manual_seed(0))
    return stepper("dense", DenseOgd(SIZES, stored, replace=False).step, of_one_run(made_batches()))


def draw(stored: dict, folder: Path) -> None:
    """``bench_stored_gradients.png`` and ``.svg``: both costs, log-log, with the fitted exponent."""
    import matplotlib.pyplot as plt
    import seaborn as sns

    with sns.axes_style("whitegrid"), plt.rc_context({"svg.hashsalt": "tacl"}):
        figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
        colours = sns.color_palette("colorblind")
        for name, label, colour, marker in (
            ("ogd", f"OGD, gradients as outer products, {stored['runs']} stacked runs", colours[0], "o"),
            ("dense", "dense projection, p × n matrix", colours[1], "s"),
        ):
            at = [point for point in stored["points"] if name in point]
            if not at:
                continue
            sizes = [point["stored"] for point in at]
            middle, low, high = (np.array([p[name][key] for p in at]) for key in ("median", "low", "high"))
            axes.errorbar(
                sizes, middle, yerr=[middle - low, high - middle], color=colour, marker=marker, capsize=3, label=label
            )
        axes.set(xscale="log", yscale="log", xlabel="stored gradients", ylabel="ms per step of one run")
        exponent = stored["exponent"].get("ogd")
        fitted = f"cost of an OGD step grows as n^{exponent:.2f}" if exponent is not None else "cost of an OGD step"
        axes.set_title(f"{fitted} (784-200-200-10, {stored['threads']} thread)", fontsize="medium")
        axes.legend()
        for kind in ("png", "svg"):
            # No date inside: the same numbers give the same file.
            facts = {"Date": None} if kind == "svg" else None
            path = folder / f"bench_stored_gradients.{kind}"
            write_whole(path, lambda part, k=kind, f=facts: figure.savefig(part, format=k, dpi=150, metadata=f))
        plt.close(figure)

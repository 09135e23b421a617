"""The settings that the paper leaves open, as a profile has them, in words."""

from tacl_lib.core.tasks import customary_scaling
from tacl_lib.paper import DATASETS
from tacl_lib.paper.markdown import markdown_table
from tacl_lib.runs.profiles import METHODS, PAPER_DATASETS, Profile

#: what the chosen values of `RunSpec` mean
IN_WORDS = {
    "standard": "mean 0, deviation 1",
    "symmetric": "[-1, 1]",
    "torch": "as `torch.nn.Linear` begins",
    "parts": "each task has its own part of the test images",
    "bilinear": "bilinear",
    "zero": "corners that come in are 0 after scaling",
    "whole": "trained for as many epochs as the others",
    "own": "from its own epochs on, not when it is mixed in before",
}


HEADS = ("open setting", "as run", "where that comes from")


def chosen_settings(profile: Profile) -> str:
    """The same as a Markdown table."""
    return markdown_table(HEADS, chosen(profile))


def chosen(profile: Profile) -> list[tuple[str, object, str]]:
    """Each open setting, what the profile's runs have for it, and where that comes from.

    "Fitted" names the study that compared readings by their distance to the paper's numbers.
    """
    spec = profile.spec("mnist", "class", "disjoint", "sgd")
    own = {name: profile.spec("mnist", "class", "disjoint", name).full()["learner_settings"] for name in METHODS}
    bgd, scaling = own["bgd"], [f"{DATASETS[d]}: {IN_WORDS[customary_scaling(d)]}" for d in PAPER_DATASETS]
    other_inputs = "alternatives were tried with other inputs only (`sgd`)"
    return [
        ("input scaling", "; ".join(scaling), "fitted (`sgd`, `colour`), but for notMNIST, where it is assumed"),
        ("initialisation", IN_WORDS[spec.initialisation], "fitted (`sgd`)"),
        ("momentum of SGD", own["sgd"]["momentum"], f"assumed; {other_inputs}"),
        ("validation data", IN_WORDS[spec.validation], f"assumed; {other_inputs}"),
        ("rotation: interpolation", IN_WORDS[spec.interpolation], f"assumed; {other_inputs}"),
        ("rotation: corners", IN_WORDS[spec.fill], "fitted (`sgd`)"),
        ("last task of the continuous stream", IN_WORDS[spec.last_task], "fitted (`last_task`)"),
        ("a task of that stream counts for the average", IN_WORDS[spec.counted], "fitted (`last_task`)"),
        ("A-GEM's samples a task", own["agem"]["samples_per_task"], "fitted (`agem`)"),
        ("reference batch of A-GEM", own["agem"]["reference_batch"], "fitted (`agem`); class split has fewer samples"),
        ("reference batch of TA-A-GEM", own["ta_agem"]["reference_batch"], "fitted (`ta_agem`)"),
        ("OGD's gradients a task", own["ogd"]["samples_per_task"], "fitted (`ogd`)"),
        ("BGD's first σ", bgd["std_init"], "fitted (`bgd`), among values of BGD's authors"),
        ("BGD's η and draws a step", f"{bgd['eta']:g} and {bgd['passes']}", "BGD's authors"),
        ("BGD's loss of a batch", f"{bgd['batch_loss']} of its samples", "BGD's authors"),
        ("BGD's weights that are tested", "the means μ", "assumed"),
        ("SGD lr adapt", "SGD with the paper's scheduler on the loss of every batch", "assumed: a name in its tables"),
        ("mean over epochs", "over all epochs of a run", "caption of its tables; its text speaks of 20"),
        ("forgetting", "of each run, then mean over runs", "assumed"),
    ]

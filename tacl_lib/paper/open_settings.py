"""The settings that the paper leaves open: a profile's choices, in words."""

from tacl_lib.core.tasks import customary_scaling
from tacl_lib.names import DATASETS, METHODS, title
from tacl_lib.paper.markdown import markdown_table
from tacl_lib.runs.profiles import Profile

#: what the chosen values of `RunSpec` mean
IN_WORDS = {
    "standard": "mean 0, deviation 1",
    "symmetric": "[-1, 1]",
    "torch": "the default of `torch.nn.Linear`",
    "parts": "each task has its own part of the test images",
    "bilinear": "bilinear",
    "zero": "empty corners are 0 after scaling",
    "whole": "trained for as many epochs as the others",
    "own": "from its own epochs on, not while it is being mixed in",
}


HEADS = ("open setting", "our choice", "where it comes from")


def chosen_settings(profile: Profile) -> str:
    """`chosen` as a Markdown table."""
    return markdown_table(HEADS, chosen(profile))


def chosen(profile: Profile) -> list[tuple[str, object, str]]:
    """Each open setting, the profile's choice, and where that comes from.

    "Fitted" names the study that compared readings by their distance from the paper's numbers.
    """
    spec = profile.spec("mnist", "class", "disjoint", "sgd")
    own = {name: profile.spec("mnist", "class", "disjoint", name).full()["learner_settings"] for name in METHODS}
    bgd, scaling = own["bgd"], [f"{title('dataset', d)}: {IN_WORDS[customary_scaling(d)]}" for d in DATASETS]
    other_inputs = "alternatives were tried with other inputs only (`sgd`)"
    return [
        ("input scaling", "; ".join(scaling), "fitted (`sgd`, `colour`), except for notMNIST, where it is assumed"),
        ("initialisation", IN_WORDS[spec.initialisation], "fitted (`sgd`)"),
        ("momentum of SGD", own["sgd"]["momentum"], f"assumed; {other_inputs}"),
        ("validation data", IN_WORDS[spec.validation], f"assumed; {other_inputs}"),
        ("rotation: interpolation", IN_WORDS[spec.interpolation], f"assumed; {other_inputs}"),
        ("rotation: corners", IN_WORDS[spec.fill], "fitted (`sgd`)"),
        ("last task of the continuous stream", IN_WORDS[spec.last_task], "fitted (`last_task`)"),
        ("when a task of that stream counts for the average", IN_WORDS[spec.counted], "fitted (`last_task`)"),
        ("A-GEM's samples per task", own["agem"]["samples_per_task"], "fitted (`agem`)"),
        (
            "reference batch of A-GEM",
            own["agem"]["reference_batch"],
            "fitted (`agem`); on class split the memory is smaller",
        ),
        ("reference batch of TA-A-GEM", own["ta_agem"]["reference_batch"], "fitted (`ta_agem`)"),
        ("OGD's gradients per task", own["ogd"]["samples_per_task"], "fitted (`ogd`)"),
        ("BGD's first σ", bgd["std_init"], "fitted (`bgd`), among the values of BGD's authors"),
        ("BGD's η and draws per step", f"{bgd['eta']:g} and {bgd['passes']}", "BGD's authors"),
        ("BGD's batch loss", f"{bgd['batch_loss']} over its samples", "BGD's authors"),
        ("BGD: weights used for testing", "the means μ", "assumed"),
        (
            "SGD lr adapt",
            "SGD with the paper's scheduler on the loss of every batch",
            "assumed: only named in its tables",
        ),
        ("mean over epochs", "over all epochs of a run", "the captions of its tables; its text says 20"),
        ("forgetting", "computed per run, then averaged over runs", "assumed"),
    ]

"""The settings that the paper leaves open, as a profile has them, in words."""

from tacl_lib.experiments.profiles import METHODS, PAPER_DATASETS, Profile
from tacl_lib.paper import DATASETS
from tacl_lib.readme import markdown_table
from tacl_lib.tasks import customary_scaling

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


def chosen_settings(profile: Profile) -> str:
    """A Markdown table: each open setting, and what the profile's runs have for it."""
    spec = profile.spec("mnist", "class", "disjoint", "sgd")
    own = {name: profile.spec("mnist", "class", "disjoint", name).full()["learner_settings"] for name in METHODS}
    bgd = own["bgd"]
    chosen = {
        "input scaling": "; ".join(f"{DATASETS[d]}: {IN_WORDS[customary_scaling(d)]}" for d in PAPER_DATASETS),
        "initialisation": IN_WORDS[spec.initialisation],
        "momentum of SGD": own["sgd"]["momentum"],
        "validation data": IN_WORDS[spec.validation],
        "rotation": f"{IN_WORDS[spec.interpolation]}, {IN_WORDS[spec.fill]}",
        "last task of the continuous stream": IN_WORDS[spec.last_task],
        "a task of the continuous stream counts for the average": IN_WORDS[spec.counted],
        "reference batch of A-GEM": own["agem"]["reference_batch"],
        "reference batch of TA-A-GEM": own["ta_agem"]["reference_batch"],
        "A-GEM's samples a task": own["agem"]["samples_per_task"],
        "OGD's gradients a task": own["ogd"]["samples_per_task"],
        "BGD's first σ": bgd["std_init"],
        "BGD's draws a step": bgd["passes"],
        "BGD's loss of a batch": f"{bgd['batch_loss']} of its samples",
    }
    return markdown_table(["open setting", "as run"], chosen.items())

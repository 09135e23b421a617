"""The paper in ten claims: what readers want to know first, each made up of one or more of all claims."""

from collections.abc import Sequence

from tacl_lib.paper.judging import Finding

#: a headline, and the keys of its claims (`claims.CLAIMS`, `memory_claims.CLAIMS`)
TEN = (
    ("TA-OGD and TA-A-GEM forget less than SGD, and nobody tells them the tasks", ("less_forgetting",)),
    (
        "They beat BGD, the task-agnostic rival, on the three grey datasets",
        ("beat_bgd", "beat_bgd_on_permutation"),
    ),
    ("On the two colour datasets they do about as well as BGD", ("like_bgd",)),
    (
        "On permutation the methods hardly differ, and even SGD forgets little",
        ("permutation_alike", "sgd_on_permutation"),
    ),
    ("On rotation A-GEM, which is told the tasks, is best of all", ("agem_on_rotation",)),
    (
        "On rotation both still forget less, and on Fashion-MNIST TA-A-GEM leads its kind",
        ("less_forgetting_on_rotation", "best_on_rotation"),
    ),
    ("They gain most on class split", ("lead_on_class", "best_on_class")),
    (
        "On class split the better one is on par with A-GEM, although not told the tasks",
        ("on_par_on_fashion_mnist", "on_par_on_notmnist"),
    ),
    ("Blurred task boundaries do not harm them", ("blurred",)),
    (
        "It is the clusters that keep old tasks: random assignment loses them",
        ("more_varied", "kept", "lost_at_once"),
    ),
)


def ten_claims(findings: Sequence[Finding]) -> list[Finding]:
    """The ten, each with the parts of all its claims. findings: `claims.findings`."""
    known = {found.key: found for found in findings}
    return [Finding(title, tuple(part for key in keys for part in known[key].parts)) for title, keys in TEN]


def in_numbers(finding: Finding) -> str:
    """One line: how many parts hold, and the numbers of one of them, if possible one that fails."""
    if not finding.tested:
        return f"none of {len(finding.parts)} parts has runs yet"
    failing = [part for part in finding.tested if not part.holds]
    shown = (failing or finding.tested)[0].numbers
    word = "not in" if failing else "e.g."
    return f"{finding.held} of {len(finding.tested)} parts{_untested(finding)}; {word} {shown}"


def _untested(finding: Finding) -> str:
    waiting = len(finding.parts) - len(finding.tested)
    return f" ({waiting} more wait for runs)" if waiting else ""

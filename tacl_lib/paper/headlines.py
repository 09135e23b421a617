"""The paper in ten claims: what a reader wants to know first, each made of one or more of all claims."""

from collections.abc import Sequence

from tacl_lib.paper.judging import Finding

#: the sentence, and how the claims begin that it is made of (`claims.findings`)
TEN = (
    ("TA-OGD and TA-A-GEM forget less than SGD, and nobody tells them the tasks", ("The two reduce forgetting",)),
    (
        "They beat BGD, the task-agnostic rival, on the three grey datasets",
        ("TA-OGD and TA-A-GEM do significantly better", "The same on permutation"),
    ),
    ("On the two colour datasets they do about as well as BGD", ("On CIFAR10 and SVHN",)),
    ("On permutation the methods hardly differ, and even SGD forgets little", ("On permutation",)),
    ("On rotation A-GEM, which is told the tasks, is best of all", ("On rotation A-GEM",)),
    ("On rotation both still forget less, and on Fashion-MNIST TA-A-GEM leads its kind", ("On rotation of",)),
    ("They gain most on class split", ("The lead of the better", "On class split of MNIST")),
    (
        "On class split the better one is on par with A-GEM, although not told the tasks",
        ("On class split of Fashion", "On class split of NOT"),
    ),
    ("Blurred task boundaries do not harm them", ("With blurred boundaries",)),
    (
        "It is the clusters that keep old tasks: random assignment loses them",
        ("Clustering keeps", "With clustering, samples", "With random assignment old tasks"),
    ),
)


def ten_claims(findings: Sequence[Finding]) -> list[Finding]:
    """The ten, each with the parts of all claims that it is made of. findings: `claims.findings`."""
    return [
        Finding(title, tuple(part for found in findings if found.claim.startswith(begins) for part in found.parts))
        for title, begins in TEN
    ]


def in_numbers(finding: Finding) -> str:
    """One line: how many parts hold, and one of them with its numbers, rather one that fails."""
    if not finding.tested:
        return f"none of {len(finding.parts)} parts has runs yet"
    failing = [part for part in finding.tested if not part.holds]
    shown = (failing or finding.tested)[0].numbers
    word = "not in" if failing else "e.g."
    return f"{finding.held} of {len(finding.tested)} parts{_untested(finding)}; {word} {shown}"


def _untested(finding: Finding) -> str:
    waiting = len(finding.parts) - len(finding.tested)
    return f" ({waiting} more wait for runs)" if waiting else ""

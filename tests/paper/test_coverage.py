"""How many of the paper's numbers were run at its settings, and on which data."""

from tacl_lib.paper.coverage import coverage
from tacl_lib.paper.published import published
from tacl_lib.runs.profiles import PROFILES
from tacl_lib.runs.store import Store


class Claims(Store):
    """A store that says it has runs of some seeds."""

    def __init__(self, folder, held, notes=()):
        super().__init__(folder)
        self.held, self.told = held, dict(notes)

    def missing(self, spec, seeds):
        return [seed for seed in seeds if seed not in self.held.get(spec.name(), ())]

    def notes(self, jobs):
        return self.told


def test_every_cell_with_five_seeds_counts_and_no_other(tmp_path):
    paper = PROFILES["paper"]
    names = {
        (dataset, method): paper.spec(dataset, "class", "disjoint", method).name()
        for dataset, method in [("mnist", "sgd"), ("mnist", "bgd"), ("svhn", "agem"), ("notmnist", "sgd")]
    }
    five, four = (0, 1, 2, 3, 4), (0, 1, 2, 3)
    held = dict(zip(names.values(), (five, four, five, five), strict=True))
    notes = {"svhn": "made again from the full images", "notmnist": "the small set instead of 60,000 + 10,000"}
    first, *rows = coverage(Claims(tmp_path, held, notes)).splitlines()
    assert first == f"Of the paper's {len(published())} numbers 6 were run at its settings with 5 seeds:"
    assert [row.split()[:4] for row in rows] == [
        ["MNIST", "3", "of", "108,"],
        ["Fashion-MNIST", "0", "of", "108"],
        ["notMNIST", "3", "of", "108"],
        ["CIFAR-10", "0", "of", "108"],
        ["SVHN", "3", "of", "108"],
    ]
    assert rows[0].endswith("3 more with fewer seeds")
    assert rows[2].endswith("(the small set instead of 60,000 + 10,000; not counted)")
    assert rows[4].endswith("(made again from the full images)")

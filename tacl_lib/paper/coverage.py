"""How many of the paper's numbers were run at its settings, and on which data."""

from collections import Counter

from tacl_lib.data.dataset import ANOTHER_SET
from tacl_lib.names import title
from tacl_lib.paper.compare import PAPER_RUNS, RUNS_OF
from tacl_lib.paper.published import published
from tacl_lib.runs.grid import Job
from tacl_lib.runs.profiles import PROFILES
from tacl_lib.runs.store import Store


def coverage(store: Store) -> str:
    """In lines: how many numbers, in all and by dataset, have as many runs as in the paper."""
    paper, cells_of, whole, begun = PROFILES["paper"], Counter(), Counter(), Counter()
    jobs = []
    for (experiment, dataset, split, method), cells in published().groupby(RUNS_OF, sort=False):
        spec = paper.spec(dataset, split, experiment, method)
        jobs.append(Job(spec, paper.seeds))
        done = len(paper.seeds) - len(store.missing(spec, paper.seeds))
        cells_of[dataset] += len(cells)
        whole[dataset] += len(cells) * (done >= PAPER_RUNS)
        begun[dataset] += len(cells) * (0 < done < PAPER_RUNS)
    notes = store.notes(jobs)
    counted = {name: 0 if notes.get(name, "").startswith(ANOTHER_SET) else count for name, count in whole.items()}
    lines = [
        f"Of the paper's {cells_of.total()} numbers {sum(counted.values())} "
        f"were run at its settings with {PAPER_RUNS} seeds:"
    ]
    for dataset, of in cells_of.items():
        fewer = f", {begun[dataset]} more with fewer seeds" * bool(begun[dataset])
        note = f" ({notes[dataset]}{'; not counted' * (counted[dataset] < whole[dataset])})" if dataset in notes else ""
        lines.append(f"  {title('dataset', dataset):15}{whole[dataset]:4} of {of}{fewer}{note}")
    return "\n".join(lines)

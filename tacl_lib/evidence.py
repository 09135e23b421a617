"""Numbers for the README from stored runs:  python -m tacl_lib.evidence [--write-readme]

The reference runs in ``results/reference`` were made at the paper's settings and are part of the project.
"""

import argparse
import sys

import pandas as pd

from tacl_lib.errors import TaclError
from tacl_lib.experiments.profiles import METHODS, PROFILES
from tacl_lib.files import write_whole
from tacl_lib.paper import METHODS as TITLES
from tacl_lib.paper import make_cells
from tacl_lib.readme import replaced_block
from tacl_lib.results import METRICS, REFERENCE, ROOT, Store

DATASET, SPLIT, EXPERIMENT = "fashion_mnist", "class", "disjoint"


def evidence(store: Store) -> str:
    """A Markdown table: ours and the paper's for each method that has reference runs, and where they come from."""
    profile = PROFILES["paper"]
    jobs = [(profile.spec(DATASET, SPLIT, EXPERIMENT, method), profile.seeds) for method in METHODS]
    records = {spec.learner: store.records(spec, seeds) for spec, seeds in jobs}
    cells = make_cells(store.summaries(jobs))
    own = cells[(cells["dataset"] == DATASET) & (cells["split"] == SPLIT) & (cells["experiment"] == EXPERIMENT)]
    lines = [
        "| method | average accuracy | first task | forgetting | runs |",
        "|---|---|---|---|---|",
    ]
    for method in METHODS:
        if records[method]:
            cell = own[own["method"] == method].set_index("metric")
            shown = " | ".join(_pair(cell.loc[metric]) for metric in METRICS)
            lines.append(f"| {TITLES[method]} | {shown} | {len(records[method])} |")
    missing = [TITLES[method] for method in METHODS if not records[method]]
    infos = [record.info for of_method in records.values() for record in of_method]
    if not infos:
        raise TaclError(f"there are no reference runs in {store.folder.name}; run them first.")
    facts = [_all_of(infos, "machine"), _all_of(infos, "device"), "commit " + _all_of(infos, "commit")]
    lines += ["", f"Ours ± standard deviation over runs (paper's number). Made on {', '.join(facts)}."]
    if missing:
        lines.append(f"Not run at these settings yet: {', '.join(missing)}.")
    spec = infos[0]["spec"]
    learners = {info["learner"]: info["spec"]["learner_settings"] for info in infos}
    lines.append(
        f"Open settings: scaling {spec['scaling']}, initialisation {spec['initialisation']}, validation "
        f"{spec['validation']}; reference batch {learners.get('ta_agem', {}).get('reference_batch', 10)}, A-GEM stores "
        f"{learners.get('agem', {}).get('samples_per_task', 300)} samples a task."
    )
    return "\n".join(lines)


def _pair(cell: pd.Series) -> str:
    return f"{cell['ours']:.3f} ± {cell['std']:.3f} ({cell['paper']:.3f})"


def _all_of(infos: list[dict], name: str) -> str:
    return " and ".join(sorted({info[name] for info in infos}))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tacl_lib.evidence", description=__doc__.split("\n")[0])
    parser.add_argument("--write-readme", action="store_true", help="put the table into README.md")
    options = parser.parse_args(arguments)
    try:
        table = evidence(Store(REFERENCE))
        if options.write_readme:
            text = replaced_block((ROOT / "README.md").read_text(encoding="utf-8"), "evidence", table)
            write_whole(ROOT / "README.md", lambda part: part.write_text(text, encoding="utf-8"))
    except TaclError as error:
        sys.exit(f"evidence: {error}")
    print(table)


if __name__ == "__main__":
    main()
